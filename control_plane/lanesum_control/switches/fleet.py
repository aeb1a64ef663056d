# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""All switches of a controller: apply the desired state, and detect outages."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from lanesum.protocol.lanes import LaneOp
from lanesum_control.errors import NotPrimaryError, SwitchUnreachableError
from lanesum_control.planner.allocation import SlotRange, steps
from lanesum_control.planner.network import Network
from lanesum_control.state.events import EventLog
from lanesum_control.switches.managed import ManagedSwitch
from lanesum_fabric.errors import ControlError, SwitchWriteError
from lanesum_fabric.program.capabilities import Capabilities
from lanesum_fabric.program.controlled_switch import ControlledSwitch
from lanesum_fabric.program.switch_job import Role, SwitchJob

Desired = Mapping[str, Mapping[int, SwitchJob]]  # switch -> job -> desired entry

_NO_REDIRECTION = "redirects no packets to its CPU port: its program drops expired and unroutable ones, or reports them"
_NEVER_CONNECTED = "it was never connected"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A switch refused a job."""

    job: int
    switch: str
    why: str


class Fleet:
    """Switches by name. Not thread-safe: the controller's lock protects every call.

    Args:
        network: hosts, switches and links.
        switches: controlled switches; others on the paths are plain routers.
        events: log of outages, returns and repairs.

    Raises ConfigurationError if a switch lacks ports of the network.
    """

    def __init__(self, network: Network, switches: Mapping[str, ManagedSwitch], events: EventLog) -> None:
        self._network = network
        self._switches = dict(switches)
        self._events = events
        for name, switch in self._switches.items():
            hosts = network.seen[name].values()
            switch.check_ports({host.port for host in hosts})
            if any(host.is_cpu for host in hosts) and not switch.capabilities.redirects:
                events.add(name, _NO_REDIRECTION)
        self._held: dict[str, dict[int, SwitchJob]] = {name: {} for name in switches}
        self.down: dict[str, str] = dict.fromkeys(switches, _NEVER_CONNECTED)
        self._mastered: set[str] = set()  # switches that had another primary since they were in use

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._switches)

    @property
    def descriptions(self) -> dict[str, tuple[str, str]]:
        """Return address and program of every switch, in words."""
        return {name: switch.description for name, switch in self._switches.items()}

    @property
    def capacity(self) -> dict[str, int]:
        """Return the slots of every switch."""
        return {name: switch.slots for name, switch in self._switches.items()}

    @property
    def capabilities(self) -> dict[str, Capabilities]:
        """Return the capabilities of every switch."""
        return {name: switch.capabilities for name, switch in self._switches.items()}

    @property
    def looks_up(self) -> bool:
        """True if all switches sum by a code table."""
        return all(op in does.ops for does in self.capabilities.values() for op in LaneOp if op.shape.lookup)

    def apply(self, desired: Desired) -> list[Refusal]:
        """Apply ``desired`` to every reachable switch; unreachable ones are repaired after their return.

        A job leaves the upper switch before the racks, and is added at the racks first: an upper switch must never wait
        for sums that no rack sends. Returns the refused jobs; nothing of them remains on the refusing switch.
        """
        upper_last = sorted(self._switches, key=lambda name: name == self._network.upper)
        todo = {name: _Change(self._held[name], desired.get(name, {})) for name in upper_last}
        refusals: list[Refusal] = []
        for name in reversed(upper_last):
            self._write(name, todo[name].leave)
        for name in reversed(upper_last):
            self._write(name, todo[name].cut)
        for name in upper_last:
            self._write(name, todo[name].grow)
        for name in upper_last:
            for job in todo[name].coming:
                refusals += self._admit(name, job)
        return refusals

    def _write(self, name: str, change: Callable[[ControlledSwitch, dict[int, SwitchJob]], None]) -> None:
        """Write one phase at one switch. After a refusal the state of the switch is read again."""
        if name in self.down:
            return
        try:
            change(self._switches[name].device, self._held[name])
        except ControlError as error:
            self.lost(name, error)

    def _admit(self, name: str, job: SwitchJob) -> list[Refusal]:
        if name in self.down:
            return []
        try:
            self._switches[name].device.admit(job)
        except SwitchWriteError as error:
            return [Refusal(job.job, name, f"it refused the job: {error.what.removesuffix('.')}")]
        except ControlError as error:
            self.lost(name, error)
        else:
            self._held[name][job.job] = job
        return []

    def probe(self, name: str) -> ControlError | None:
        """Return the defect of a connected switch, if any. Slow, without side effects: needs no lock."""
        try:
            self._switches[name].check()
        except ControlError as error:
            return error
        return None

    def log_news(self, name: str) -> None:
        """Log the changes that a switch has reported since the last call. One thread at a time; needs no lock."""
        for text in self._switches[name].news():
            self._events.add(name, text)

    async def unchanged(self, name: str) -> bool:
        """Return False if ``probe`` or ``connect`` is due. In the event loop."""
        return name not in self.down and await self._switches[name].unchanged()

    def agrees(self, name: str, desired: Mapping[int, SwitchJob]) -> bool:
        """Return False if a connected switch holds something else. Slow, without side effects: needs no lock."""
        try:
            return self._switches[name].agrees(list(self._network.seen[name].values()), list(desired.values()))
        except ControlError:
            return True  # ``probe`` finds the reason

    def watch(self, name: str, changed: Callable[[], None]) -> None:
        """Call ``changed``, from any thread, when the outcome of ``probe`` or ``connect`` may be another one."""
        self._switches[name].watch(changed)

    def lost(self, name: str, error: ControlError) -> None:
        """Use the switch again only after it is connected."""
        if name not in self.down:
            self._events.add(name, f"{self._note_mastership(name, error)}: {error.what}")
        self.down[name] = error.what.removesuffix(".")

    def _note_mastership(self, name: str, error: ControlError) -> str:
        """Return the event of a loss, and remember whether another client is primary."""
        if isinstance(error, NotPrimaryError):
            self._mastered.add(name)
            return "mastership lost"
        return "lost"

    def unusable(self, name: str, error: ControlError) -> None:
        """Note a switch that answers but cannot be controlled; logged once."""
        why = error.what.removesuffix(".")
        is_known = name in self._mastered and isinstance(error, NotPrimaryError)
        if self.down.get(name) != why and not is_known:
            self._note_mastership(name, error)
            self._events.add(name, f"not controlled: {error.what}")
        self.down[name] = why

    def connect(self, name: str, timeout_s: float) -> list[str] | None:
        """Take control of an unreachable switch. No other thread uses it meanwhile, so no lock is needed.

        Returns the repairs, or None if it is still unreachable. Raises NotPrimaryError, PipelineError: retrying soon
        does not help.
        """
        try:
            return self._switches[name].connect(timeout_s)
        except SwitchUnreachableError as error:
            if self.down[name] == _NEVER_CONNECTED:
                self._events.add(name, f"not there yet: {error}")
            self.down[name] = error.what.removesuffix(".")
            return None

    def settle(self, name: str, desired: Mapping[int, SwitchJob], done: Sequence[str] = ()) -> None:
        """Make a connected switch hold exactly ``desired``, and use it again."""
        hosts = list(self._network.seen[name].values())
        try:
            repaired = self._switches[name].reconcile(hosts, list(desired.values()))
        except ControlError as error:
            self.lost(name, error)
            return
        self._held[name] = dict(desired)
        if self.down.pop(name, None) is not None:
            event = "mastership won back" if name in self._mastered else "connected"
            self._mastered.discard(name)
            self._events.add(name, f"{event}: {', '.join([*done, *repaired]) or 'no differences'}")
        elif repaired:
            self._events.add(name, f"repaired: {', '.join(repaired)}")

    def decisions(self) -> dict[str, dict[str, int]]:
        """Return the packet counters of every switch that answers. Slow, without side effects: needs no lock."""
        counts = {}
        for name, switch in self._switches.items():
            if name not in self.down:
                with contextlib.suppress(ControlError):
                    counts[name] = switch.device.decisions()
        return counts

    def close(self) -> None:
        """Disconnect from the switches; the jobs remain on them."""
        for switch in self._switches.values():
            switch.close()


class _Change:
    """Writes at one switch, by phase."""

    def __init__(self, held: Mapping[int, SwitchJob], desired: Mapping[int, SwitchJob]) -> None:
        stay = {job for job, one in desired.items() if job in held and _but_slots(held[job]) == _but_slots(one)}
        self._gone = [one for job, one in held.items() if job not in stay]
        self.coming = [one for job, one in desired.items() if job not in stay]
        self._steps = steps(
            {job: _range(held[job]) for job in held if job in stay}, {job: _range(desired[job]) for job in stay}
        )

    def leave(self, switch: ControlledSwitch, held: dict[int, SwitchJob]) -> None:
        for job in self._gone:
            switch.remove(job)
            held.pop(job.job, None)

    def cut(self, switch: ControlledSwitch, held: dict[int, SwitchJob]) -> None:
        self._move(switch, held, self._steps.cuts)

    def grow(self, switch: ControlledSwitch, held: dict[int, SwitchJob]) -> None:
        self._move(switch, held, self._steps.moves)
        self._move(switch, held, self._steps.growths)

    @staticmethod
    def _move(switch: ControlledSwitch, held: dict[int, SwitchJob], ranges: Mapping[int, SlotRange]) -> None:
        """Write ranges in one request, because hundreds of jobs may share the pool."""
        new = {job: replace(held[job], slot_base=slots.base, slot_count=slots.count) for job, slots in ranges.items()}
        if new:
            switch.modify_all([(held[job], one) for job, one in new.items()])
            held.update(new)


def _range(job: SwitchJob) -> SlotRange:
    return SlotRange(job.slot_base, job.slot_count, Role.SHARED in job.role)


def _but_slots(job: SwitchJob) -> SwitchJob:
    """Return the fields that cannot be changed in place."""
    return replace(job, slot_base=0, slot_count=0)
