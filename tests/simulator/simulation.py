# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Event loop: virtual time, jobs, killed nodes, and packets from hop to hop."""

from __future__ import annotations

import collections
import heapq
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lanesum.aggregation.slots import Owner
from lanesum.protocol.packet import server_of
from tests.simulator import kernel
from tests.simulator.bounds import AFTERLIFE_S, bounds
from tests.simulator.intruder import Intruder
from tests.simulator.job import JobRun
from tests.simulator.layout import (
    OUTSIDER,
    SERVER_ADDRESSES,
    Address,
    Layout,
    endpoint,
    frame_to_switch,
    host_name,
    ip_text,
)
from tests.simulator.network import Fate, SimulatedNetwork
from tests.simulator.nodes import Key, ServerNode, SwitchNode
from tests.simulator.parts import PYTHON, Parts
from tests.simulator.placement import Bases, SimulatedPlacement
from tests.simulator.scenario import SERVER, SERVER_ALONE, SERVERS, Kill, MemoryFlip, Resize, Scenario, Stray
from tests.simulator.server_ghost import ServerGhost
from tests.simulator.violation import Invariant, Violation
from tests.simulator.watched_switch import WatchedSwitch
from tests.simulator.wire import HEADER_BYTES, RESULT, Seen, flipped, read
from tests.simulator.worker import SimulatedWorker

Trace = Callable[[str], None]
# The lowest bits of epoch, chunk, slot, workers and racks in a header.
_NUMBERS = tuple(8 * (end - 1) + bit for end in (12, 16, 18, 24, 28) for bit in range(2))
_FRAME_BYTES = kernel.PREFIX_BYTES + HEADER_BYTES
# Time in which all workers learn of a mismatch; a worker whose packet was lost waits for its deadline.
_MISMATCH_S = 3.0
# Time in which everything ends that can without a quorum; other workers wait for their deadlines.
_TOO_FEW_S = 10.0


class ProtocolSimulation:
    """One run of a scenario.

    Args:
        scenario: the scenario.
        seed: seed of the data.
        network: faults of the packets.
        trace: called with every step in words.
        parts: implementations.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        network: SimulatedNetwork,
        trace: Trace | None = None,
        parts: Parts = PYTHON,
    ) -> None:
        self.now = 0.0
        self.events = 0
        self.contributions = 0
        self.decisions: collections.Counter[str] = collections.Counter()
        self._scenario = scenario
        self._seed = seed
        self._network = network
        self._trace = trace
        self._parts = parts
        self._queue: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = 0
        self._admitted: dict[Key, JobRun] = {}
        self._sockets: dict[Address, SimulatedWorker] = {}
        self._runs: dict[int, JobRun] = {}  # latest job by line
        self._all_runs: dict[Key, JobRun] = {}  # workers of removed jobs stay for a while
        self._ended = 0
        self._layout = Layout(scenario)
        self._bases = Bases(scenario)
        self._switches = {
            name: SwitchNode(name, self._layout, self._bases, scenario.accumulator_words, self._microseconds, parts)
            for name in self._layout.switches
        }
        self._servers: dict[str, ServerNode] = {}
        self._server_ghosts = {name: ServerGhost(chip=parts.chip) for name in self._layout.servers}
        self._watched = {
            name: WatchedSwitch(node, self._layout, self._admitted, self._microseconds, self._say, chip=parts.chip)
            for name, node in self._switches.items()
        }

    def _microseconds(self) -> int:
        return int(self.now * 1e6)

    def run(self) -> None:
        """Run until no event is left. Raises Violation."""
        folder = None
        if any(kill.node in SERVERS for kill in self._scenario.kills):
            folder = tempfile.TemporaryDirectory(prefix="lanesum-", dir=_memory())
        for name in self._layout.servers:
            self._servers[name] = ServerNode(None if folder is None else Path(folder.name) / name, self._parts)
        try:
            self._run()
        except Violation as violation:
            violation.at_s = self.now
            raise
        except Exception as error:
            # Any exception of the code under test is a finding, with its schedule.
            crash = Violation(Invariant.CRASH, f"{type(error).__name__}: {error}")
            crash.at_s = self.now
            raise crash from error
        finally:
            for node in self._switches.values():
                self.decisions += node.decisions()
            for server in self._servers.values():
                server.close()
                self.decisions += collections.Counter(
                    {f"server {name}": count for name, count in server.decisions().items()}
                )
            if folder is not None:
                folder.cleanup()

    def _run(self) -> None:
        scenario, queue = self._scenario, self._queue
        for line, plan in enumerate(scenario.lines):
            self._at(plan.start_s, self._admit, line, 0)
        intruder = Intruder(
            self._layout, self._switches, self._servers, self._sockets, self._receive, self._arrive_at_host
        )
        for stray in scenario.strays:
            self._at(stray.at_s, self._stray, intruder, stray)
        for kill in scenario.kills:
            if kill.node in self._servers or kill.node in self._switches:
                self._at(kill.at_s, self._kill, kill)
        for resize in scenario.resizes:
            if resize.node in self._switches:
                self._at(resize.at_s, self._resize, resize)
        for flip in scenario.flips:
            if flip.node in self._servers or flip.node in self._switches:
                self._at(flip.at_s, self._flip_memory, flip)
        max_s, max_events = bounds(scenario)
        while queue:
            self.now, _, action, arguments = heapq.heappop(queue)
            self.events += 1
            if self.now > max_s or self.events > max_events:
                waiting = ", ".join(str(worker) for worker in self._sockets.values() if not worker.done)
                raise Violation(Invariant.BOUNDED, f"no end after {self.now:.1f} s, {self.events} events: {waiting}")
            action(*arguments)
        if self._ended != len(scenario.lines):
            raise Violation(Invariant.BOUNDED, "no event is left, and jobs have not ended")
        for name, ghost in self._server_ghosts.items():
            ghost.check_counters(self._servers[name].decisions())

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
        placement = SimulatedPlacement(self._scenario, self._layout, self._bases, line, plan)
        run = JobRun(line, number, plan, placement, self.now, self._seed, self._scenario.accumulator_words)
        self._say("{} is admitted in line {}, on {}", run, line, ", ".join(placement.switches) or "no switch")
        key = plan.job, plan.tag
        for server in self._servers.values():
            server.admit(key, placement)
        for name, job in placement.switches.items():
            self._switches[name].admit(job)
        self._runs[line] = self._admitted[key] = self._all_runs[key] = run
        for worker, how in enumerate(plan.workers):
            one = SimulatedWorker(run, worker, self._parts, self._send, self._wake)
            self._sockets[one.address] = one
            self._wake(one, self.now + how.start_s)
            if how.dies_s is not None:
                self._wake(one, self.now + how.dies_s)
        if plan.abort_s is not None:
            self._at(self.now + plan.abort_s, self._end, run)

    def _end(self, run: JobRun) -> None:
        """Remove a job; its successor gets the slots without clearing."""
        if not run.admitted:
            return
        run.admitted = False
        key = run.plan.job, run.plan.tag
        self._say("{} is removed", run)
        for server in self._servers.values():
            server.remove(key)
        for node in self._switches.values():
            node.remove(key)
        del self._admitted[key]
        if run.number + 1 < len(self._scenario.lines[run.line].jobs):
            self._admit(run.line, run.number + 1)
        else:
            self._ended += 1
        self._at(self.now + AFTERLIFE_S, self._stop, run)

    def _end_mismatched(self, run: JobRun) -> None:
        scenario = self._scenario
        lossless = not (scenario.rates.lose or scenario.rates.corrupt or scenario.kills or scenario.resizes)
        if run.admitted and lossless:
            for worker in self._sockets.values():
                if worker.run is run and not worker.over:
                    raise Violation(Invariant.BOUNDED, f"{worker} is never told that the workers disagree")
        self._end(run)

    def _stop(self, run: JobRun) -> None:
        run.stopped = True

    def _resize(self, resize: Resize) -> None:
        run, node = self._runs.get(resize.line), self._switches[resize.node]
        if run is None or not run.admitted or resize.slots > run.plan.slots:
            return
        if node.resize((run.plan.job, run.plan.tag), resize.line, resize):
            self._say("{} gets {} slots of {}", run, resize.slots, resize.node)

    # Kills.

    def _flip_memory(self, flip: MemoryFlip) -> None:
        """Flip a bit of a sum that a node stores."""

        def may_flip(owner: Owner) -> bool:
            chunk = owner.job, owner.tag, owner.epoch, owner.chunk
            if chunk in self._network.flipped:
                return False
            self._network.flipped.add(chunk)
            self._say("a bit flips in {}: epoch {}, chunk {}", flip.node, owner.epoch, owner.chunk)
            self._note_flip(owner.job, owner.tag, owner.epoch, owner.chunk)
            return True

        self._node(flip.node).flip(flip.value, may_flip)

    def _note_flip(self, job: int, tag: int, epoch: int, chunk: int) -> None:
        run = self._all_runs.get((job, tag))
        position = None if run is None else run.truth.position(epoch, chunk)
        if run is not None and position is not None:
            run.flipped.add(position)

    def _flipped_bit(self, seen: Seen, value: int, *, to_worker: bool) -> int:
        """Return the bit of a datagram that flips: of its words, or of the header of a result for a worker."""
        self._note_flip(seen.job, seen.tag, seen.epoch, seen.chunk)
        if to_worker and seen.kind == RESULT and value >> 31:
            # Half of them in bits that make the numbers of another chunk, round, slot or worker in use.
            return _NUMBERS[value % len(_NUMBERS)] if value >> 30 & 1 else value % (8 * HEADER_BYTES)
        return 8 * HEADER_BYTES + value % (32 * seen.words)

    def _node(self, name: str) -> SwitchNode | ServerNode:
        return self._servers[name] if name in self._servers else self._switches[name]

    def _kill(self, kill: Kill) -> None:
        node = self._node(kill.node)
        self._say("{} dies", kill.node)
        node.kill()
        if kill.node in self._servers:
            self._server_ghosts[kill.node].forget()
        else:
            self._watched[kill.node].ghost.forget()
        self._at(self.now + kill.down_s, self._revive, kill, node.boots, 0)

    def _revive(self, kill: Kill, boots: int, stage: int) -> None:
        node = self._node(kill.node)
        if node.boots != boots:
            return  # it was killed again
        self._say("{} {}", kill.node, ("is back", "has routes again", "has its jobs again")[stage])
        (node.boot, node.add_routes, node.add_jobs)[stage]()
        if stage < 2:
            self._at(self.now + (kill.routes_s, kill.jobs_s)[stage], self._revive, kill, boots, stage + 1)

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
        if worker.over or run.stopped:
            return
        before = run.running, run.mismatched
        worker.turn(self.now)
        if run.admitted and before != (run.running, run.mismatched):
            if run.mismatched:
                self._at(self.now + _MISMATCH_S, self._end_mismatched, run)
            elif not run.running:
                self._at(self.now + run.plan.linger_s, self._end, run)
            elif run.has_too_few:
                self._at(self.now + _TOO_FEW_S, self._end, run)

    def _send(self, worker: SimulatedWorker, datagram: bytes, seen: Seen) -> None:
        """Send a contribution of a worker."""
        self.contributions += 1
        place = host_name(worker.plan.host)
        server = self._layout.server_of(seen.shadow_slot)
        chosen = worker.ticket.servers[server_of(datagram, len(worker.ticket.servers))]
        if chosen != SERVER_ADDRESSES[server]:
            raise Violation(Invariant.SENDING, f"{worker} sends {seen} to {chosen}, who does not have the slot")
        if self._scenario.network == SERVER_ALONE:
            fate = self._network.fate(f"{place}>{server}", seen)
            self._say("{} sends {}", worker, seen, fate=fate)
            if fate.damage is not None:
                return  # the server's kernel drops it
            if fate.flip is not None and seen.words:  # no bits of a header alone flip
                datagram = flipped(datagram, self._flipped_bit(seen, fate.flip, to_worker=False))
            for delay_s in fate.delays_s:
                arrives_s = self.now + worker.plan.latency_s + delay_s
                self._at(arrives_s, self._serve, server, worker.address, datagram, False)
            return
        self._say("{} sends {}", worker, seen)
        frame = frame_to_switch(worker.address, chosen, datagram)
        self._transmit((place, 0), frame, worker.plan.latency_s)

    # Frames.

    def _transmit(self, place: tuple[str, int], frame: bytes, latency_s: float) -> None:
        """Send a frame from a port of a node."""
        other = self._layout.wires.get(place)
        if other is None:
            raise Violation(Invariant.ANSWERS, f"{place[0]} sends by port {place[1]}, where nothing is")
        if len(frame) < _FRAME_BYTES:
            raise Violation(Invariant.ANSWERS, f"{place[0]} sends a frame of {len(frame)} bytes")
        seen = read(frame[kernel.PREFIX_BYTES :])
        fate = self._network.fate(f"{place[0]}>{other[0]}", seen)
        if not fate.unhurt:
            self._say("{} from {} to {}", seen, place[0], other[0], fate=fate)
        is_damaged = fate.damage is not None
        if fate.damage is not None:
            frame = kernel.damage(frame, fate.damage)
        if fate.is_marked:
            frame = kernel.mark(frame)
        if fate.flip is not None and seen.words:  # no bits of a header alone flip
            frame = kernel.flip(frame, self._flipped_bit(seen, fate.flip, to_worker=other[0].startswith("host")))
        for delay_s in fate.delays_s:
            self._at(self.now + latency_s + delay_s, self._arrive, other, frame, is_damaged)

    def _arrive(self, place: tuple[str, int], frame: bytes, is_damaged: bool) -> None:
        """Deliver a frame to a port of a node."""
        node, port = place
        switch = self._switches.get(node)
        if switch is None:
            self._arrive_at_host(node, frame, is_damaged)
        elif switch.alive:
            for egress, sent in self._watched[node].process(port, frame, is_damaged):
                self._pass_on((node, egress), sent, is_damaged)

    def _pass_on(self, place: tuple[str, int], frame: bytes, is_damaged: bool) -> None:
        if is_damaged:  # it was damaged already, and must not be delivered
            self._at(self.now + self._layout.trunk_s, self._arrive, self._layout.wires[place], frame, True)
            return
        other = self._layout.wires.get(place)
        worker = None if other is None else self._at_host(other[0], frame)
        self._transmit(place, frame, self._layout.trunk_s if worker is None else worker.plan.latency_s)

    def _at_host(self, node: str, frame: bytes) -> SimulatedWorker | None:
        """Return the socket address of a frame, if the node is a host."""
        if not node.startswith("host"):
            return None
        ip = ip_text(int.from_bytes(frame[30:34], "big"))
        return self._sockets.get((ip, int.from_bytes(frame[36:38], "big")))

    def _stray(self, intruder: Intruder, stray: Stray) -> None:
        run = self._runs.get(stray.line)
        if run is not None and stray.worker < len(run.plan.workers):
            self._say("a stray packet ({})", stray.kind)
            intruder.send(stray, run)

    # Hosts.

    def _arrive_at_host(self, node: str, frame: bytes, is_damaged: bool) -> None:
        if node in self._servers:
            ip, port = SERVER_ADDRESSES[node]
            datagram = kernel.unpack(frame, endpoint(ip))
            if datagram is not None and datagram.port == port:
                self._check_whole(is_damaged, node)
                sender = ip_text(datagram.source_ip), datagram.source_port
                self._serve(node, sender, datagram.payload, datagram.congested)
            return
        if node == OUTSIDER:
            return
        worker = self._at_host(node, frame)
        if worker is None:
            return
        datagram = kernel.unpack(frame, endpoint(worker.address[0]))
        # Connected sockets accept only packets of the server.
        if datagram is None or (ip_text(datagram.source_ip), datagram.source_port) not in worker.ticket.servers:
            return
        self._check_whole(is_damaged, node)
        self._receive(worker.address, datagram.payload)

    @staticmethod
    def _check_whole(is_damaged: bool, node: str) -> None:
        if is_damaged:
            raise Violation(Invariant.ISOLATION, f"a damaged packet passes for whole at {node}")

    def _receive(self, receiver: Address, datagram: bytes) -> None:
        worker = self._sockets[receiver]  # the present owner of the address
        if not worker.over:
            worker.receive(datagram, self.now)

    def _serve(self, name: str, sender: Address, datagram: bytes, congested: bool) -> None:
        """Deliver a datagram to a server."""
        server = self._servers[name]
        if not server.alive:
            return
        before = server.counts()
        answers = server.handle(sender, datagram, congested=congested)
        after = server.counts()
        for receiver, answer in answers:
            self._check_answer(receiver, answer)
        seen = read(datagram)
        run = self._admitted.get((seen.job, seen.tag))
        decided = [name for name in after if after[name] != before[name]]
        if run is not None and sender in run.placement.addresses and server.knows_jobs:
            by_address = {one: worker for worker, one in enumerate(run.placement.addresses)}
            answered = [(by_address[receiver], read(answer), answer) for receiver, answer in answers]
            self._server_ghosts[name].check(run, by_address[sender], seen, decided, answered)
        elif answers or decided != ["refused"]:
            raise Violation(Invariant.ISOLATION, f"the server does {decided} with {seen} of {sender}, who is no member")
        for receiver, answer in answers:
            self._answer(name, receiver, answer)

    def _check_answer(self, receiver: Address, answer: bytes) -> None:
        seen = read(answer)
        run = self._admitted.get((seen.job, seen.tag))
        if run is None or receiver not in run.placement.addresses:
            raise Violation(Invariant.ISOLATION, f"the server sends {seen} to {receiver}, who is no member")
        run.check(SERVER, seen, answer)

    def _answer(self, server: str, receiver: Address, datagram: bytes) -> None:
        """Send an answer of a server."""
        worker = self._sockets[receiver]
        if self._scenario.network != SERVER_ALONE:
            self._say("{} sends {} to {}", server, read(datagram), worker)
            frame = frame_to_switch(SERVER_ADDRESSES[server], receiver, datagram)
            self._transmit((server, 0), frame, self._layout.trunk_s)
            return
        seen = read(datagram)
        fate = self._network.fate(f"{server}>{host_name(worker.plan.host)}", seen)
        self._say("{} sends {} to {}", server, seen, worker, fate=fate)
        if fate.damage is not None:
            return  # the worker's kernel drops it
        if fate.flip is not None and seen.words:  # no bits of a header alone flip
            datagram = flipped(datagram, self._flipped_bit(seen, fate.flip, to_worker=True))
        for delay_s in fate.delays_s:
            self._at(self.now + worker.plan.latency_s + delay_s, self._receive, receiver, datagram)


def _memory() -> str | None:
    """Return a folder in memory, if the machine has one."""
    shared = Path("/dev/shm")
    return str(shared) if shared.is_dir() else None
