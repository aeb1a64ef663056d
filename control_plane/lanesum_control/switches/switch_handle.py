# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A switch of the controller: the entries that it holds, the order of changes to them, and its outages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lanesum_control.errors import NotPrimaryError, SwitchUnreachableError
from lanesum_control.planner.allocation import SlotRange, steps
from lanesum_control.state.events import EventLog
from lanesum_control.switches.managed import ManagedSwitch
from lanesum_fabric.errors import ControlError, SwitchWriteError
from lanesum_fabric.program.capabilities import ControlledSwitch
from lanesum_fabric.program.switch_job import HostPort, Role, SwitchJob

_NO_REDIRECTION = "redirects no packets to its CPU port: its program drops expired and unroutable ones, or reports them"
_NEVER_CONNECTED = "it was never connected"


@dataclass(frozen=True, slots=True)
class SwitchRefusal:
    """A switch refused a job."""

    job: int
    switch: str
    why: str


class SwitchHandle:
    """A switch and its state. Not thread-safe: the controller's lock protects every call that does not say otherwise.

    Args:
        hosts: all hosts, as this switch sees them, see ``route``.
        ports: its ports that packets of hosts pass, by any path.

    Attributes:
        down: reason why the switch is not used; None if it is.
        verified_s: time of the last comparison of its entries, in seconds since 1970; None before the first.

    Raises ConfigurationError if the switch lacks ports of the network.
    """

    def __init__(
        self, name: str, switch: ManagedSwitch, hosts: Iterable[HostPort], events: EventLog, ports: Collection[int]
    ) -> None:
        self.name = name
        self.switch = switch
        self._hosts = list(hosts)
        self._events = events
        switch.check_ports(ports)
        if any(host.is_cpu for host in self._hosts) and not switch.capabilities.redirects:
            events.add(name, _NO_REDIRECTION)
        self._held: dict[int, SwitchJob] = {}
        self.down: str | None = _NEVER_CONNECTED
        self.verified_s: float | None = None
        self._is_mastered = False  # it had another primary since it was in use

    def changes(self, desired: Mapping[int, SwitchJob]) -> Changes | None:
        """Return the writes that lead to ``desired``; None if there are none, as at most switches."""
        return Changes(self._held, desired) if self._held != desired else None

    def route(self, hosts: Iterable[HostPort]) -> None:
        """Change the paths to hosts, if the switch is there; else ``settle`` does. Jobs on changed paths have left."""
        before, self._hosts = self._hosts, list(hosts)
        if before == self._hosts or self.down is not None:
            return
        try:
            self.switch.reconcile(self._hosts, list(self._held.values()))
        except ControlError as error:
            self.lost(error)

    def write(self, change: Callable[[ControlledSwitch, dict[int, SwitchJob]], None]) -> None:
        """Write one phase of ``Changes``, if the switch is there. After a refusal its state is read again."""
        if self.down is not None:
            return
        try:
            change(self.switch.device, self._held)
        except ControlError as error:
            self.lost(error)

    def admit(self, job: SwitchJob) -> SwitchRefusal | None:
        """Install a job, if the switch is there; return its refusal. Nothing of a refused job remains."""
        if self.down is not None:
            return None
        try:
            self.switch.device.admit(job)
        except SwitchWriteError as error:
            return SwitchRefusal(job.job, self.name, f"it refused the job: {error.what.removesuffix('.')}")
        except ControlError as error:
            self.lost(error)
        else:
            self._held[job.job] = job
        return None

    def probe(self) -> ControlError | None:
        """Return the defect of a connected switch, if any. Slow, without side effects: needs no lock."""
        try:
            self.switch.check()
        except ControlError as error:
            return error
        return None

    def log_news(self) -> None:
        """Log the changes that the switch has reported since the last call. One thread at a time; needs no lock."""
        for text in self.switch.news():
            self._events.add(self.name, text)

    async def unchanged(self) -> bool:
        """Return False if ``probe`` or ``connect`` is due. In the event loop."""
        return self.down is None and await self.switch.unchanged()

    def agrees(self, desired: Mapping[int, SwitchJob]) -> bool:
        """Return False if a connected switch holds something else. Slow: needs no lock. One thread at a time."""
        begin_s = self._events.now()
        try:
            agrees = self.switch.agrees(self._hosts, list(desired.values()))
        except ControlError:
            return True  # ``probe`` finds the reason
        if agrees:
            self.verified_s = begin_s
        return agrees

    def lost(self, error: ControlError) -> None:
        """Use the switch again only after it is connected."""
        if self.down is None:
            self._events.add(self.name, f"{self._note_mastership(error)}: {error.what}")
        self.down = error.what.removesuffix(".")

    def _note_mastership(self, error: ControlError) -> str:
        """Return the event of a loss, and remember whether another client is primary."""
        if isinstance(error, NotPrimaryError):
            self._is_mastered = True
            return "mastership lost"
        return "lost"

    def unusable(self, error: ControlError) -> None:
        """Note a switch that answers but cannot be controlled; logged once."""
        why = error.what.removesuffix(".")
        is_known = self._is_mastered and isinstance(error, NotPrimaryError)
        if self.down != why and not is_known:
            self._note_mastership(error)
            self._events.add(self.name, f"not controlled: {error.what}")
        self.down = why

    def is_silent(self, waited_s: float) -> None:
        """Note a switch that has not answered at the start of the controller."""
        self.down = f"it has not answered within {waited_s:.1f} s"
        self._events.add(self.name, f"not there yet: {self.down}")

    def connect(self, timeout_s: float) -> list[str] | None:
        """Take control of an unreachable switch. No other thread uses it meanwhile, so no lock is needed.

        Returns the repairs, or None if it is still unreachable. Raises NotPrimaryError, PipelineError: retrying soon
        does not help.
        """
        try:
            return self.switch.connect(timeout_s)
        except SwitchUnreachableError as error:
            if self.down == _NEVER_CONNECTED:
                self._events.add(self.name, f"not there yet: {error}")
            self.down = error.what.removesuffix(".")
            return None

    def settle(self, desired: Mapping[int, SwitchJob], done: Sequence[str] = ()) -> frozenset[int]:
        """Make a connected switch hold exactly ``desired``, and use it again.

        Returns the numbers of the jobs whose sums can be wrong since ``verified_s``, by entries of another client.
        """
        is_settled = self.down is None and self._held == desired
        try:
            repaired = self.switch.reconcile(self._hosts, list(desired.values()), is_settled=is_settled)
        except ControlError as error:
            self.lost(error)
            return frozenset()
        self._held = dict(desired)
        if self.down is not None:
            self.down = None
            event = "mastership won back" if self._is_mastered else "connected"
            self._is_mastered = False
            self._events.add(self.name, f"{event}: {', '.join([*done, *repaired]) or 'no differences'}")
        elif repaired:
            self._events.add(self.name, f"repaired: {', '.join(repaired)}")
        return self.switch.altered


class Changes:
    """Writes at one switch, by phase: jobs leave, ranges are cut, ranges grow; jobs of ``coming`` are admitted last."""

    def __init__(self, held: Mapping[int, SwitchJob], desired: Mapping[int, SwitchJob]) -> None:
        stay = {job for job, one in desired.items() if job in held and _but_slots(held[job]) == _but_slots(one)}
        self._gone = [one for job, one in held.items() if job not in stay]
        self.coming = [one for job, one in desired.items() if job not in stay]
        self._steps = steps(
            {job: _range(held[job]) for job in held if job in stay}, {job: _range(desired[job]) for job in stay}
        )

    def leave(self, switch: ControlledSwitch, held: dict[int, SwitchJob]) -> None:
        """Remove jobs that have ended, or change in more than their slots."""
        for job in self._gone:
            switch.remove(job)
            held.pop(job.job, None)

    def cut(self, switch: ControlledSwitch, held: dict[int, SwitchJob]) -> None:
        """Shrink ranges to the slots that their jobs keep."""
        self._move(switch, held, self._steps.cuts)

    def grow(self, switch: ControlledSwitch, held: dict[int, SwitchJob]) -> None:
        """Move ranges of the shared pool, and give the others their new slots."""
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
