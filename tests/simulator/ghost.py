# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ghost state of a switch: contributors of every entry, tracked from outside with numbers that never wrap."""

from __future__ import annotations

from dataclasses import dataclass

from lanesum_fabric.program.switch_job import Role, SwitchJob
from tests.simulator.job import JobRun
from tests.simulator.violation import Invariant, Violation
from tests.simulator.wire import BYPASS, COLLISION, ECN, EPOCHS, PARTIAL, RETRANSMISSION, Seen

Key = tuple[int, int]  # job, tag
# Decisions after which a switch sends nothing.
_SILENT = ("claim", "contribute", "drop_late", "collide", "pass_late")
_MARKS = ECN | COLLISION | RETRANSMISSION
_TICKS, _CHIP_TICKS = 1 << 16, 1 << 28


@dataclass(slots=True)
class SwitchEntry:
    """Expected contents of a register entry. ``at``: round and chunk, counted from the job's beginning."""

    key: Key
    at: tuple[int, int]
    what: tuple[int, int]  # operation, words of the round
    touched: int
    marks: int  # flags ECN, COLLISION and RETRANSMISSION of contributions
    workers: int = 0
    done: bool = False
    noted: int = 0  # workers whose packets for this chunk arrived, counted or not


class SwitchGhost:
    """Expected entries of a switch in any role.

    ``chip``: the switch decides as the Tofino program does.
    """

    def __init__(self, node: str, *, chip: bool = False) -> None:
        self._node = node
        self._chip = chip
        self._ticks = _CHIP_TICKS if chip else _TICKS
        self._entries: dict[tuple[int, int], SwitchEntry] = {}  # by absolute slot and shadow set

    def forget(self) -> None:
        """Forget all entries: the switch was killed."""
        self._entries.clear()

    def check(
        self, run: JobRun, job: SwitchJob, worker: int, seen: Seen, tick: int, decided: list[str], made: list[Seen]
    ) -> None:
        """Check how the switch handled a contribution of a worker of ``job``. Raises Violation if it is wrong.

        Args:
            seen: header of the packet, with flag ECN if the frame was marked.
            tick: time in ticks of 1,024 µs.
            decided: decisions that the switch counted.
            made: packets that it made of this one.
        """
        decision = self._decide(run, job, worker, seen, tick)
        expected = [] if decision is None else [decision]
        completed = decision is not None and decision.endswith("complete")
        if decision is None or decision in _SILENT:
            copies = 0
        elif decision in ("replay", "ascend_again") or (completed and job.role & Role.ASCEND):
            copies = 1
        else:
            copies = len(job.members)
        # A colliding contribution is forwarded with one more flag, and counts as made.
        if decided != expected or (len(made) != copies and decision != "collide"):
            raise Violation(
                Invariant.ANSWERS,
                f"{self._node} does {decided} with {seen}, and makes {len(made)} packets, not {expected} and {copies}",
            )
        if completed or decision in ("replay", "ascend_again"):
            entry = self._entries[job.slot_base + (seen.shadow_slot & 0x7FFF), seen.shadow_slot >> 15]
            marks = (entry.marks | seen.flags) & _MARKS
            again = 0 if completed else RETRANSMISSION
            for one in made:
                if one.flags & _MARKS != marks | again:
                    raise Violation(Invariant.ANSWERS, f"{self._node} sends {one}: its flags are wrong")

    def _decide(self, run: JobRun, job: SwitchJob, worker: int, seen: Seen, tick: int) -> str | None:
        """Return the expected decision; None if the packet bypasses the slots."""
        members = run.placement.members_at(self._node)
        bit = next((bit for bit, workers in enumerate(members) if workers >> worker & 1), None)
        slot, shadow = seen.shadow_slot & 0x7FFF, seen.shadow_slot >> 15
        if bit is None or job.members[bit].aggregate != seen.aggregate:
            return None
        if seen.flags & (BYPASS | PARTIAL) or slot >= job.slot_count:
            return None
        register = job.slot_base + slot, shadow
        key, what = (seen.job, seen.tag), (seen.op, seen.racks)
        at = (seen.epoch - run.plan.first_epoch) % EPOCHS, seen.chunk
        entry = self._entries.get(register)
        if entry is not None and entry.key != key:
            is_shared = job.role & Role.SHARED and not entry.done
            if is_shared and (tick - entry.touched) % self._ticks <= job.lease:
                return "collide"
            entry = None
        if entry is None or at > entry.at:
            entry = self._entries[register] = SwitchEntry(key, at, what, tick, 0)
        elif at < entry.at:
            return "pass_late" if job.role & Role.QUORUM else "drop_late"
        seen_before = (entry.noted if self._chip else entry.workers) >> bit & 1
        entry.noted |= 1 << bit
        if what != entry.what:
            return "report_conflict"
        if entry.done:
            if not job.role & Role.ASCEND:
                return "replay"
            return "ascend_again" if seen_before else "pass_late"
        if seen_before:
            return "report_pending"
        action = "contribute" if entry.workers else "claim"
        entry.workers |= 1 << bit
        entry.touched = tick
        entry.marks |= seen.flags & _MARKS
        entry.done = entry.workers.bit_count() >= job.fan_in
        return action + "_and_complete" if entry.done else action
