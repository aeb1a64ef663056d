# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Supervisor of a run, and the process faults of its plan: it kills, restarts and pauses processes."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lanesum.launch.supervisor import Child, ProcessFailedError, Supervisor, send_signal
from lanesum_switch.faults.plan import FaultPlan, ProcessFault

_POLL_S = 0.05


class RunSupervisor(Supervisor):
    """Supervisor whose processes may be killed, restarted and paused. Use as a context manager.

    Attributes:
        killed: processes that were killed on purpose; their absence is no failure until they are restarted.
    """

    def __init__(self, log_folder: Path) -> None:
        super().__init__(log_folder)
        self.killed: list[Child] = []

    def child(self, name: str) -> Child:
        """Return the process ``name``. Raises KeyError if it was never started."""
        found = next((child for child in self.children if child.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def kill(self, child: Child) -> None:
        """Kill a process, as in a crash, without failing the run."""
        if child not in self.killed:
            self.killed.append(child)
        send_signal(child, signal.SIGKILL)
        child.process.wait()

    def restart(self, child: Child) -> None:
        """Restart a killed process with the same command; append to its log."""
        super().restart(child)
        self.killed.remove(child)

    @staticmethod
    def pause(child: Child) -> None:
        """Stop a process with SIGSTOP."""
        send_signal(child, signal.SIGSTOP)

    @staticmethod
    def resume(child: Child) -> None:
        """Continue a paused process."""
        send_signal(child, signal.SIGCONT)

    def wait(
        self, awaited: Sequence[Child], timeout_s: float | None = None, meanwhile: Callable[[], object] = lambda: None
    ) -> None:
        """Wait until all of ``awaited`` have ended with status 0, except those killed on purpose.

        Calls ``meanwhile`` repeatedly. Raises ProcessFailedError as soon as one of them fails or any other process
        ends, or after ``timeout_s``.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        waiting = list(awaited)
        while waiting:
            meanwhile()
            self.check(may_end=awaited)
            waiting = [child for child in waiting if child.process.poll() is None]
            if deadline is not None and time.monotonic() > deadline:
                raise ProcessFailedError(f"{', '.join(c.name for c in waiting)} did not end within {timeout_s:g} s.")
            time.sleep(_POLL_S)

    def check(self, besides: Collection[Child] = (), may_end: Collection[Child] = ()) -> None:
        """See ``Supervisor.check``; processes that were killed on purpose are no failure."""
        try:
            super().check([*besides, *self.killed], may_end)
        except ProcessFailedError as error:
            if not self.killed:
                raise
            killed = ", ".join(child.name for child in self.killed)
            raise ProcessFailedError(f"After {killed} had been killed as planned, {error}") from error


@dataclass(frozen=True, slots=True)
class ProcessEvent:
    """A fault that was carried out.

    Attributes:
        at_s: seconds after the training through lanesum began.
        step: training step at that time.
    """

    at_s: float
    step: int
    process: str
    what: str


@dataclass(slots=True)
class _Recovery:
    """Restart or resumption of a process at a later time."""

    at: float
    child: Child
    act: Callable[[Child], None]
    what: str


class ProcessFaults:
    """Carry out the process faults of a plan. Call ``tick`` often, and ``finish`` at the end.

    Args:
        step: returns the number of completed training steps; None before the training begins.
        seen: returns the number of packets that matched each trigger of the plan.
        before_kill: called with the name of a process before it is killed.
        clock: returns the time in seconds.
    """

    def __init__(
        self,
        plan: FaultPlan,
        supervisor: RunSupervisor,
        *,
        step: Callable[[], int | None],
        seen: Callable[[], list[int]],
        before_kill: Callable[[str], object] = lambda _process: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.events: list[ProcessEvent] = []
        self._supervisor = supervisor
        self._step, self._seen, self._clock = step, seen, clock
        self._before_kill = before_kill
        self._began: float | None = None
        self._waiting = list(plan.processes)
        self._triggers = {id(fault): number for number, fault in enumerate(f for f in plan.processes if f.after)}
        self._recoveries: list[_Recovery] = []

    def tick(self) -> None:
        """Carry out the faults and recoveries that are due."""
        if not self._waiting and not self._recoveries:
            return
        now, step = self._clock(), self._step()
        if step is not None and self._began is None:
            self._began = now
        for recovery in [one for one in self._recoveries if one.at <= now]:
            self._recover(recovery)
        seen = self._seen() if self._triggers else []
        for fault in [one for one in self._waiting if self._is_due(one, now, step, seen)]:
            self._waiting.remove(fault)
            self._inject(fault, now)

    def _is_due(self, fault: ProcessFault, now: float, step: int | None, seen: list[int]) -> bool:
        if fault.after is not None:
            return seen[self._triggers[id(fault)]] >= fault.after.nth
        if fault.step is not None:
            return step is not None and step >= fault.step
        assert fault.at_s is not None
        return self._began is not None and now >= self._began + fault.at_s

    def _inject(self, fault: ProcessFault, now: float) -> None:
        child = self._supervisor.child(fault.process)
        if child.process.poll() is not None:
            self._note(fault.process, f"{fault.kind}: it was not running")
        elif fault.kind == "pause":
            assert fault.for_s is not None
            self._supervisor.pause(child)
            self._note(child.name, "paused")
            self._recoveries.append(_Recovery(now + fault.for_s, child, self._supervisor.resume, "resumed"))
        else:
            self._before_kill(child.name)
            self._supervisor.kill(child)
            self._note(child.name, "killed")
            if fault.restart_after_s is not None:
                at = self._clock() + fault.restart_after_s
                self._recoveries.append(_Recovery(at, child, self._supervisor.restart, "restarted"))

    def _recover(self, recovery: _Recovery) -> None:
        self._recoveries.remove(recovery)
        recovery.act(recovery.child)
        self._note(recovery.child.name, recovery.what)

    def _note(self, process: str, what: str) -> None:
        at_s = 0.0 if self._began is None else self._clock() - self._began
        self.events.append(ProcessEvent(round(at_s, 3), self._step() or 0, process, what))

    def finish(self) -> None:
        """Carry out all recoveries that are left, because the run has ended before they were due."""
        for recovery in list(self._recoveries):
            self._recover(recovery)

    def report(self) -> list[dict[str, Any]]:
        """Return the faults that were carried out, and those that never became due."""
        return [asdict(one) for one in self.events] + list(_left_out(self._waiting))


def _left_out(faults: Iterable[ProcessFault]) -> Iterable[dict[str, Any]]:
    for fault in faults:
        yield {"at_s": None, "step": None, "process": fault.process, "what": f"{fault.kind}: never due"}
