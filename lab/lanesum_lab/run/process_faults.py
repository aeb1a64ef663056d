# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Carries out what a fault plan has for processes: kills them, starts them again, pauses them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from lanesum_lab.run.supervisor import Child, Supervisor
from lanesum_switch.faults.plan import FaultPlan, ProcessFault


@dataclass(frozen=True, slots=True)
class Happening:
    """``at_s``: seconds after the training through lanesum began; ``step``: of the training at that time."""

    at_s: float
    step: int
    process: str
    what: str


@dataclass(slots=True)
class _Return:
    at: float
    child: Child
    act: Callable[[Child], None]
    what: str


class ProcessFaults:
    """Watches for the moments of a plan. Call ``tick`` often, and ``finish`` at the end.

    Args:
        plan: with the process faults.
        supervisor: of the processes.
        step: steps that the training has done; None before it has begun.
        seen: packets that each of the plan's triggers has seen.
        before_kill: told of a process while it is still there.
        clock: seconds.
    """

    def __init__(
        self,
        plan: FaultPlan,
        supervisor: Supervisor,
        *,
        step: Callable[[], int | None],
        seen: Callable[[], list[int]],
        before_kill: Callable[[str], object] = lambda _process: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.happened: list[Happening] = []
        self._supervisor = supervisor
        self._step, self._seen, self._clock = step, seen, clock
        self._before_kill = before_kill
        self._began: float | None = None
        self._waiting = list(plan.processes)
        self._triggers = {id(fault): number for number, fault in enumerate(f for f in plan.processes if f.after)}
        self._returns: list[_Return] = []

    def tick(self) -> None:
        """Carry out what is due now."""
        if not self._waiting and not self._returns:
            return
        now, step = self._clock(), self._step()
        if step is not None and self._began is None:
            self._began = now
        for back in [one for one in self._returns if one.at <= now]:
            self._come_back(back)
        seen = self._seen() if self._triggers else []
        for fault in [one for one in self._waiting if self._is_due(one, now, step, seen)]:
            self._waiting.remove(fault)
            self._strike(fault, now)

    def _is_due(self, fault: ProcessFault, now: float, step: int | None, seen: list[int]) -> bool:
        if fault.after is not None:
            return seen[self._triggers[id(fault)]] >= fault.after.nth
        if fault.step is not None:
            return step is not None and step >= fault.step
        assert fault.at_s is not None
        return self._began is not None and now >= self._began + fault.at_s

    def _strike(self, fault: ProcessFault, now: float) -> None:
        child = self._supervisor.child(fault.process)
        if child.process.poll() is not None:
            self._note(fault.process, f"{fault.kind}: it was not running")
        elif fault.kind == "pause":
            assert fault.for_s is not None
            self._supervisor.pause(child)
            self._note(child.name, "paused")
            self._returns.append(_Return(now + fault.for_s, child, self._supervisor.resume, "resumed"))
        else:
            self._before_kill(child.name)
            self._supervisor.kill(child)
            self._note(child.name, "killed")
            if fault.restart_after_s is not None:
                at = self._clock() + fault.restart_after_s
                self._returns.append(_Return(at, child, self._supervisor.restart, "started again"))

    def _come_back(self, back: _Return) -> None:
        self._returns.remove(back)
        back.act(back.child)
        self._note(back.child.name, back.what)

    def _note(self, process: str, what: str) -> None:
        at_s = 0.0 if self._began is None else self._clock() - self._began
        self.happened.append(Happening(round(at_s, 3), self._step() or 0, process, what))

    def finish(self) -> None:
        """Bring everything back that is to come back: the run ends sooner than the plan thought."""
        for back in list(self._returns):
            self._come_back(back)

    def report(self) -> list[dict[str, Any]]:
        """What happened, and what of the plan did not."""
        return [asdict(one) for one in self.happened] + list(_left_out(self._waiting))


def _left_out(faults: Iterable[ProcessFault]) -> Iterable[dict[str, Any]]:
    for fault in faults:
        yield {"at_s": None, "step": None, "process": fault.process, "what": f"{fault.kind}: its moment did not come"}
