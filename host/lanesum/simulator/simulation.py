# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The event loop: virtual time, jobs that come and go, packets under way, and the checks at every arrival."""

from __future__ import annotations

import collections
import heapq
from collections.abc import Callable
from typing import Any

from lanesum.protocol.lanes import LaneOp
from lanesum.simulator import strays
from lanesum.simulator.job import JobRun
from lanesum.simulator.network import DOWN, MOST_LOSSES, UP, Fate, Network
from lanesum.simulator.points import Address, Datagrams, SwitchPoint, address, make_point
from lanesum.simulator.scenario import SWITCH, JobPlan, Scenario, Stray
from lanesum.simulator.violation import Invariant, Violation
from lanesum.simulator.wire import HEADER_BYTES, RESULT, Seen, read
from lanesum.simulator.worker import SimulatedWorker
from lanesum.transport.rtt import MAX_RTO_S

# Workers of a job that was taken out notice it late, and go on sending for so long.
_AFTERLIFE_S = 0.5
Trace = Callable[[str], None]
# Another operation whose packets have the same size.
_OTHER_OP = {
    LaneOp.ADD32: LaneOp.OR,
    LaneOp.OR: LaneOp.MAX,
    LaneOp.MAX: LaneOp.ADD8X4,
    LaneOp.ADD8X4: LaneOp.ADD32,
    LaneOp.EXPAND8: LaneOp.TABLE8,
    LaneOp.TABLE8: LaneOp.EXPAND8,
}


class Simulation:
    """One run of a scenario.

    Args:
        scenario: what runs.
        seed: of the data.
        network: what happens to each packet.
        trace: called with every step in words.
    """

    def __init__(self, scenario: Scenario, seed: int, network: Network, trace: Trace | None = None) -> None:
        self.now = 0.0
        self.events = 0
        self.contributions = 0
        self._scenario = scenario
        self._seed = seed
        self._network = network
        self._trace = trace
        self._point = make_point(scenario)
        self._queue: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = 0
        self._admitted: dict[tuple[int, int], JobRun] = {}
        self._sockets: dict[Address, SimulatedWorker] = {}
        self._runs: dict[int, JobRun] = {}  # by line: the latest
        self._ended = 0
        self.decisions: collections.Counter[str] = collections.Counter()
        self._refused = 0

    def run(self) -> None:
        """Until nothing is under way any more. Raises Violation."""
        try:
            self._run()
        except Violation as violation:
            violation.at_s = self.now
            raise
        except Exception as error:
            # Whatever the code under test raises is a finding, with its schedule.
            crash = Violation(Invariant.CRASH, f"{type(error).__name__}: {error}")
            crash.at_s = self.now
            raise crash from error

    def _run(self) -> None:
        scenario, queue = self._scenario, self._queue
        for line, plan in enumerate(scenario.lines):
            self._at(plan.start_s, self._admit, line, 0)
        for stray in scenario.strays:
            self._at(stray.at_s, self._stray, stray)
        most_s, most_events = bounds(scenario)
        while queue:
            self.now, _, action, arguments = heapq.heappop(queue)
            self.events += 1
            if self.now > most_s or self.events > most_events:
                waiting = ", ".join(str(worker) for worker in self._sockets.values() if not worker.done)
                raise Violation(Invariant.BOUNDED, f"no end after {self.now:.1f} s, {self.events} events: {waiting}")
            action(*arguments)
        if self._ended != len(scenario.lines):
            raise Violation(Invariant.BOUNDED, "nothing is under way any more, and jobs have not ended")
        self._check_counters()

    def _at(self, time_s: float, action: Callable[..., None], *arguments: Any) -> None:
        self._order += 1
        heapq.heappush(self._queue, (time_s, self._order, action, arguments))

    def _say(self, what: str, *arguments: object, fate: Fate | None = None) -> None:
        if self._trace is not None:
            fault = "" if fate is None or fate.unhurt else f"; {fate}"
            self._trace(f"{self.now:12.6f} {what.format(*arguments)}{fault}")

    # Jobs.

    def _admit(self, line: int, number: int) -> None:
        plan = self._scenario.lines[line].jobs[number]
        self._say("job {} (tag {:#x}) is admitted in line {}", plan.job, plan.tag, line)
        run = JobRun(line, plan, self.now, self._seed, self._scenario.accumulator_words)
        self._point.admit(line, plan)
        self._runs[line] = self._admitted[plan.job, plan.tag] = run
        for worker, how in enumerate(plan.workers):
            one = SimulatedWorker(run, worker, self._send, self._wake)
            self._sockets[one.address] = one
            self._wake(one, self.now + how.start_s)
        if plan.abort_s is not None:
            self._at(self.now + plan.abort_s, self._end, run, number)

    def _end(self, run: JobRun, number: int) -> None:
        """The controller takes a job out; its successor takes the slots as they are."""
        if not run.admitted:
            return
        run.admitted = False
        plan: JobPlan = run.plan
        self._say("job {} (tag {:#x}) is removed", plan.job, plan.tag)
        self._point.remove(run.line, plan)
        del self._admitted[plan.job, plan.tag]
        self.decisions += run.ghost.decisions
        if number + 1 < len(self._scenario.lines[run.line].jobs):
            self._admit(run.line, number + 1)
        else:
            self._ended += 1
        self._at(self.now + _AFTERLIFE_S, self._stop, run)

    def _stop(self, run: JobRun) -> None:
        run.running = 0

    # Workers.

    def _wake(self, worker: SimulatedWorker, at_s: float) -> None:
        if at_s < worker.woken_at:
            worker.woken_at = at_s
            self._at(at_s, self._turn, worker, at_s)

    def _turn(self, worker: SimulatedWorker, at_s: float) -> None:
        if worker.woken_at != at_s:
            return  # woken earlier in the meantime
        worker.woken_at = float("inf")
        run = worker.run
        if worker.done or not run.running:
            return
        worker.turn(self.now)
        if worker.done and not run.running and run.admitted:
            number = self._scenario.lines[run.line].jobs.index(run.plan)
            self._at(self.now + run.plan.linger_s, self._end, run, number)

    def _send(self, worker: SimulatedWorker, chunk: int, datagram: bytes, now: float) -> None:
        seen, plan = read(datagram), worker.run.plan
        fate = self._network.fate(UP, plan.job, plan.tag, worker.worker, seen.epoch, chunk)
        self._say("{} sends chunk {}", worker, chunk, fate=fate)
        for delay_s in fate.delays_s:
            self._at(now + worker.plan.latency_s + delay_s, self._contribute, worker, datagram, seen, fate.conflict)

    # Packets.

    def _contribute(self, worker: SimulatedWorker, datagram: bytes, seen: Seen, conflict: bool) -> None:
        """A worker's packet arrives at the aggregation point."""
        self.contributions += 1
        self._say("chunk {} of epoch {} arrives from {}", seen.chunk, seen.epoch, worker)
        answers = self._point.deliver(worker.address, datagram)
        run = self._admitted.get((seen.job, seen.tag))
        if run is None:
            self._refuse(answers, f"job {seen.job} with tag {seen.tag:#x}, which is not admitted")
            return
        position = run.truth.position(seen.epoch, seen.chunk)
        assert position is not None
        expected = run.ghost.contribute(worker.worker, seen, position)
        self._compare(run, seen, [(address(run.line, to), answer) for to, answer in expected], answers)
        for receiver, answer in answers:
            self._answer(receiver, answer)
        if conflict:
            other = seen._replace(op=_OTHER_OP[LaneOp(seen.op)])
            run.ghost.conflict(other, position)
            answers = self._point.deliver(worker.address, other.pack() + datagram[HEADER_BYTES:])
            if answers:
                raise Violation(Invariant.ANSWERS, f"{other} was answered, although the chunk has another operation")

    def _compare(self, run: JobRun, seen: Seen, expected: Datagrams, answers: Datagrams) -> None:
        if expected == answers or sorted(expected) == sorted(answers):
            return
        right = {one[:HEADER_BYTES]: one for _, one in expected}
        for _, answer in answers:
            got = read(answer)
            if got.kind == RESULT and right.get(answer[:HEADER_BYTES], answer) != answer:
                detail = f"the result of job {run.plan.job}, epoch {got.epoch}, chunk {got.chunk} is not the sum"
                raise Violation(Invariant.EXACTNESS, detail)
        wanted = "; ".join(f"{read(one)} to {to}" for to, one in expected) or "nothing"
        got_text = "; ".join(f"{read(one)} to {to}" for to, one in answers) or "nothing"
        raise Violation(Invariant.ANSWERS, f"{seen} is answered by {got_text}, not by {wanted}")

    def _refuse(self, answers: Datagrams, what: str) -> None:
        self._refused += 1
        if answers:
            raise Violation(Invariant.ISOLATION, f"answers to {what}")

    def _answer(self, receiver: Address, datagram: bytes) -> None:
        """An answer leaves for a worker."""
        seen, worker = read(datagram), self._sockets.get(receiver)
        if worker is None:
            raise Violation(Invariant.ANSWERS, f"an answer to {receiver}, where nobody is")
        fate = self._network.fate(DOWN, seen.job, seen.tag, worker.worker, seen.epoch, seen.chunk)
        self._say("{} leaves for {}", seen, worker, fate=fate)
        for delay_s in fate.delays_s:
            self._at(self.now + worker.plan.latency_s + delay_s, self._arrive, receiver, datagram)

    def _arrive(self, receiver: Address, datagram: bytes) -> None:
        worker = self._sockets[receiver]  # whoever has the address now
        if not worker.done:
            worker.receive(datagram, self.now)

    def _stray(self, stray: Stray) -> None:
        run = self._runs.get(stray.line)
        if run is None or stray.worker >= len(run.plan.workers):
            return
        self._say("a stray packet ({}) arrives", stray.kind)
        point = self._point
        if stray.kind == strays.PASSING:
            if isinstance(point, SwitchPoint):
                point.pass_through(address(stray.line, stray.worker), address(0, 0), strays.payload(stray))
            return
        if strays.is_down(stray.kind):
            self._arrive(address(stray.line, stray.worker), strays.downward(stray, run))
            return
        spoofed = stray.kind == "spoofed"
        answers = point.deliver(strays.sender_of(stray), strays.upward(stray, run), spoofed=spoofed)
        self._refuse(answers, f"a stray packet ({stray.kind})")
        if self._scenario.point == SWITCH and stray.kind in strays.ROUTED:
            self._refused -= 1

    def _check_counters(self) -> None:
        """What the aggregation point counted is what the ghosts decided, and everything else was refused."""
        counts = self._point.decisions()
        expected = self.decisions + collections.Counter(refused=self._refused)
        if +counts != +expected:
            raise Violation(Invariant.COUNTERS, f"the aggregation point counts {+counts}, not {+expected}")


def bounds(scenario: Scenario) -> tuple[float, int]:
    """Virtual seconds and events after which a run must have ended.

    A network loses a packet ``MOST_LOSSES`` times at most, so each chunk of each worker is through after so many
    retransmissions in both directions; at worst all of them happen one after another.
    """
    total_s, pairs, waiting_s = 1.0, 0, 0.0
    for line in scenario.lines:
        total_s += line.start_s
        for job in line.jobs:
            idle = max(one.start_s for one in job.workers) + sum(length for w in job.workers for _, length in w.pauses)
            try_s = MAX_RTO_S + scenario.rates.longest_delay_s
            try_s += max(2 * one.latency_s + 3 * one.pace_s for one in job.workers) + 2e-3
            chunks = sum(one.words for one in job.rounds) + len(job.rounds)
            total_s += idle + job.linger_s + _AFTERLIFE_S + chunks * len(job.workers) * (2 * MOST_LOSSES + 2) * try_s
            pairs += chunks * len(job.workers)
            waiting_s += (idle + _AFTERLIFE_S) * len(job.workers)
    return total_s, int(4000 + 100 * pairs + 400 * waiting_s + 4 * len(scenario.strays))
