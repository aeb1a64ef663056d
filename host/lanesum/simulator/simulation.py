# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The event loop: virtual time, jobs that come and go, nodes that die, packets on their way from hop to hop."""

from __future__ import annotations

import collections
import heapq
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lanesum.aggregation.slots import Decision
from lanesum.protocol.spec import UDP_PORT
from lanesum.simulator import kernel, strays
from lanesum.simulator.bounds import AFTERLIFE_S, bounds
from lanesum.simulator.ghost import SwitchGhost
from lanesum.simulator.job import JobRun
from lanesum.simulator.layout import (
    OUTSIDER,
    OUTSIDER_ADDRESS,
    SERVER_ADDRESS,
    Address,
    Layout,
    endpoint,
    host_name,
    ip_text,
)
from lanesum.simulator.network import Fate, Network
from lanesum.simulator.nodes import Key, ServerNode, SwitchNode
from lanesum.simulator.placement import Bases, Placement
from lanesum.simulator.scenario import SERVER, SERVER_ALONE, Kill, Resize, Scenario, Stray
from lanesum.simulator.server_ghost import ServerGhost
from lanesum.simulator.violation import Invariant, Violation
from lanesum.simulator.wire import COLLISION, CONTRIBUTION, ECN, HEADER_BYTES, RESEND, RESULT, Seen, read
from lanesum.simulator.wire import UPPER as UPPER_FLAG
from lanesum.simulator.worker import SimulatedWorker
from lanesum_control.model import SWITCH_MAC, Role

Trace = Callable[[str], None]
_TO_SWITCH = kernel.Endpoint(0, SWITCH_MAC)
_DECISIONS = tuple(decision.value for decision in Decision)
_FRAME_BYTES = kernel.PREFIX_BYTES + HEADER_BYTES
# Workers that a mismatch was told of are gone; the others wait for their deadline.
_MISMATCH_S = 0.5


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
        self.decisions: collections.Counter[str] = collections.Counter()
        self._scenario = scenario
        self._seed = seed
        self._network = network
        self._trace = trace
        self._queue: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = 0
        self._admitted: dict[Key, JobRun] = {}
        self._sockets: dict[Address, SimulatedWorker] = {}
        self._runs: dict[int, JobRun] = {}  # by line: the latest
        self._ended = 0
        self._layout = Layout(scenario)
        self._bases = Bases(scenario)
        self._switches = {
            name: SwitchNode(name, self._layout, self._bases, scenario.accumulator_words, self._microseconds)
            for name in self._layout.switches
        }
        self._server: ServerNode
        self._server_ghost = ServerGhost()
        self._switch_ghosts = {name: SwitchGhost(name) for name in self._switches}

    def _microseconds(self) -> int:
        return int(self.now * 1e6)

    def run(self) -> None:
        """Until nothing is under way any more. Raises Violation."""
        folder = None
        if any(kill.node == SERVER for kill in self._scenario.kills):
            folder = tempfile.TemporaryDirectory(prefix="lanesum-", dir=_memory())
        self._server = ServerNode(None if folder is None else Path(folder.name))
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
        finally:
            self._server.close()
            for node in self._switches.values():
                self.decisions += node.decisions()
            self.decisions += collections.Counter(
                {f"server {name}": count for name, count in self._server.decisions().items()}
            )
            if folder is not None:
                folder.cleanup()

    def _run(self) -> None:
        scenario, queue = self._scenario, self._queue
        for line, plan in enumerate(scenario.lines):
            self._at(plan.start_s, self._admit, line, 0)
        for stray in scenario.strays:
            self._at(stray.at_s, self._stray, stray)
        for kill in scenario.kills:
            if kill.node == SERVER or kill.node in self._switches:
                self._at(kill.at_s, self._kill, kill)
        for resize in scenario.resizes:
            if resize.node in self._switches:
                self._at(resize.at_s, self._resize, resize)
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
        self._server_ghost.check_counters(self._server.decisions())

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
        placement = Placement(self._scenario, self._layout, self._bases, line, plan)
        run = JobRun(line, number, plan, placement, self.now, self._seed, self._scenario.accumulator_words)
        self._say("{} is admitted in line {}, on {}", run, line, ", ".join(placement.switches) or "no switch")
        key = plan.job, plan.tag
        self._server.admit(key, placement)
        for name, job in placement.switches.items():
            self._switches[name].admit(job)
        self._runs[line] = self._admitted[key] = run
        for worker, how in enumerate(plan.workers):
            one = SimulatedWorker(run, worker, self._send, self._wake)
            self._sockets[one.address] = one
            self._wake(one, self.now + how.start_s)
            if how.dies_s is not None:
                self._wake(one, self.now + how.dies_s)
        if plan.abort_s is not None:
            self._at(self.now + plan.abort_s, self._end, run)

    def _end(self, run: JobRun) -> None:
        """The controller takes a job out; its successor takes the slots as they are."""
        if not run.admitted:
            return
        run.admitted = False
        key = run.plan.job, run.plan.tag
        self._say("{} is removed", run)
        self._server.remove(key)
        for node in self._switches.values():
            node.remove(key)
        del self._admitted[key]
        if run.number + 1 < len(self._scenario.lines[run.line].jobs):
            self._admit(run.line, run.number + 1)
        else:
            self._ended += 1
        self._at(self.now + AFTERLIFE_S, self._stop, run)

    def _stop(self, run: JobRun) -> None:
        run.stopped = True

    def _resize(self, resize: Resize) -> None:
        run, node = self._runs.get(resize.line), self._switches[resize.node]
        if run is None or not run.admitted or resize.slots > run.plan.slots:
            return
        if node.resize((run.plan.job, run.plan.tag), resize.line, resize):
            self._say("{} gets {} slots of {}", run, resize.slots, resize.node)

    # Deaths.

    def _node(self, name: str) -> SwitchNode | ServerNode:
        return self._server if name == SERVER else self._switches[name]

    def _kill(self, kill: Kill) -> None:
        node = self._node(kill.node)
        self._say("{} dies", kill.node)
        node.kill()
        ghost = self._server_ghost if kill.node == SERVER else self._switch_ghosts[kill.node]
        ghost.forget()
        self._at(self.now + kill.down_s, self._revive, kill, node.boots, 0)

    def _revive(self, kill: Kill, boots: int, stage: int) -> None:
        node = self._node(kill.node)
        if node.boots != boots:
            return  # it has died again
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
                self._at(self.now + _MISMATCH_S, self._end, run)
            elif not run.running:
                self._at(self.now + run.plan.linger_s, self._end, run)

    def _send(self, worker: SimulatedWorker, datagram: bytes, seen: Seen) -> None:
        """A worker sends a contribution."""
        self.contributions += 1
        place = host_name(worker.plan.host)
        if self._scenario.network == SERVER_ALONE:
            fate = self._network.fate(f"{place}>{SERVER}", seen)
            self._say("{} sends {}", worker, seen, fate=fate)
            if fate.damage is not None:
                return  # the server's kernel drops it
            for delay_s in fate.delays_s:
                self._at(self.now + worker.plan.latency_s + delay_s, self._serve, worker.address, datagram, False)
            return
        self._say("{} sends {}", worker, seen)
        frame = _frame(worker.address, SERVER_ADDRESS, _TO_SWITCH.mac, datagram)
        self._transmit((place, 0), frame, worker.plan.latency_s)

    # Frames.

    def _transmit(self, place: tuple[str, int], frame: bytes, latency_s: float) -> None:
        """A frame leaves a node by a port."""
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
        for delay_s in fate.delays_s:
            self._at(self.now + latency_s + delay_s, self._arrive, other, frame, is_damaged)

    def _arrive(self, place: tuple[str, int], frame: bytes, is_damaged: bool) -> None:
        """A frame arrives at a node by a port."""
        node, port = place
        switch = self._switches.get(node)
        if switch is None:
            self._arrive_at_host(node, frame, is_damaged)
        elif switch.alive:
            for egress, sent in self._switch(switch, port, frame, is_damaged):
                self._pass_on((node, egress), sent, is_damaged)

    def _pass_on(self, place: tuple[str, int], frame: bytes, is_damaged: bool) -> None:
        if is_damaged:  # has had its share of misfortune, and must not arrive anywhere
            self._at(self.now + self._layout.trunk_s, self._arrive, self._layout.wires[place], frame, True)
            return
        other = self._layout.wires.get(place)
        worker = None if other is None else self._at_host(other[0], frame)
        self._transmit(place, frame, self._layout.trunk_s if worker is None else worker.plan.latency_s)

    def _at_host(self, node: str, frame: bytes) -> SimulatedWorker | None:
        """Whose socket a frame is meant for, if the node is a host."""
        if not node.startswith("host"):
            return None
        ip = ip_text(int.from_bytes(frame[30:34], "big"))
        return self._sockets.get((ip, int.from_bytes(frame[36:38], "big")))

    def _switch(self, node: SwitchNode, port: int, frame: bytes, is_damaged: bool) -> list[tuple[int, bytes]]:
        """A switch handles a frame; what it makes of it is checked."""
        before = node.counts()
        sent = node.process(port, frame)
        after = node.counts()
        if is_damaged:
            if after["accept"] != before["accept"]:
                raise Violation(Invariant.ISOLATION, f"{node.name} takes a damaged packet: {frame.hex()}")
            return sent
        body = frame[kernel.PREFIX_BYTES :]
        made = []
        for egress, one in sent:
            if one[kernel.PREFIX_BYTES :] == body:
                self._check_forwarded(node.name, egress, one)
            else:
                self._check_made(node.name, egress, one, body)
                made.append(read(one[kernel.PREFIX_BYTES :]))
        decided = [name for name in _DECISIONS if after[name] != before[name]]
        seen = read(body)
        self._check_decision(node, frame, seen, decided, made)
        self._check_descent(node, port, seen, sent)
        return sent

    def _check_descent(self, node: SwitchNode, port: int, seen: Seen, sent: list[tuple[int, bytes]]) -> None:
        """What the upper switch says to all racks goes to all workers below; a replay may be for its receiver alone."""
        run, job = self._admitted.get((seen.job, seen.tag)), node.jobs.get((seen.job, seen.tag))
        if run is None or job is None or not node.knows_jobs or seen.kind == CONTRIBUTION:
            return
        is_replay = seen.kind == RESULT and seen.flags & RESEND
        if not seen.flags & UPPER_FLAG or job.uplink != port or is_replay:
            return
        wanted = sorted(member.host.ip for member in job.members)
        hosts = {ip: kernel.Endpoint(ip, endpoint(ip_text(ip)).mac) for ip in wanted}
        got = [int.from_bytes(frame[30:34], "big") for _, frame in sent]
        if sorted(got) != wanted or any(
            kernel.unpack(frame, hosts[ip]) is None for ip, (_, frame) in zip(got, sent, strict=True)
        ):
            raise Violation(Invariant.ANSWERS, f"{node.name} does not hand {seen} down to all")

    def _check_decision(self, node: SwitchNode, frame: bytes, seen: Seen, decided: list[str], made: list[Seen]) -> None:
        """What a switch decided about a packet is what its ghost expects."""
        if kernel.is_marked(frame):
            seen = seen._replace(flags=seen.flags | ECN)
        source = ip_text(int.from_bytes(frame[26:30], "big")), int.from_bytes(frame[34:36], "big")
        run, job = self._admitted.get((seen.job, seen.tag)), node.jobs.get((seen.job, seen.tag))
        is_member = run is not None and source in run.placement.addresses and seen.kind == CONTRIBUTION
        if run is not None and job is not None and is_member and node.knows_jobs:
            worker = run.placement.addresses.index(source)
            tick = self._microseconds() >> 10
            self._switch_ghosts[node.name].check(run, job, worker, seen, tick, decided, made)
        elif decided:
            raise Violation(Invariant.ISOLATION, f"{node.name} does {decided} with {seen}, which is no member's")

    def _check_forwarded(self, node: str, egress: int, frame: bytes) -> None:
        ip = ip_text(int.from_bytes(frame[30:34], "big"))
        if self._layout.host_port(node, ip).port != egress:
            raise Violation(Invariant.ANSWERS, f"{node} sends a packet for {ip} by port {egress}")

    def _check_made(self, node: str, egress: int, frame: bytes, cause: bytes) -> None:
        """A switch has sent what it did not receive."""
        ip = ip_text(int.from_bytes(frame[30:34], "big"))
        host = self._layout.host_port(node, ip)
        # On its way to another switch it may bear that one's address.
        receiver = endpoint(ip) if host.attached else kernel.Endpoint(host.ip, frame[:6])
        datagram = kernel.unpack(frame, receiver)
        if datagram is None or host.port != egress:
            raise Violation(Invariant.ANSWERS, f"{node} sends by port {egress} what nobody takes: {frame.hex()}")
        if len(datagram.payload) < HEADER_BYTES:
            raise Violation(Invariant.ANSWERS, f"{node} makes a datagram of {len(datagram.payload)} bytes")
        seen = read(datagram.payload)
        collided = cause[:1] + bytes([cause[1] | COLLISION]) + cause[2:] == datagram.payload
        if seen.kind == CONTRIBUTION and (collided or not seen.aggregate):
            job = self._switches[node].jobs.get((seen.job, seen.tag))
            if not collided or job is None or not job.role & Role.SHARED:
                raise Violation(Invariant.ISOLATION, f"{node} changes a contribution on its way: {seen}")
            return
        self._say("{} makes {} for {}", node, seen, ip)
        run = self._admitted.get((seen.job, seen.tag))
        if run is None:
            raise Violation(Invariant.ISOLATION, f"{node} sends {seen} for a job that is not there")
        towards = {SERVER_ADDRESS} if seen.aggregate else set(run.placement.addresses)
        if seen.flags & UPPER_FLAG and not seen.aggregate and not host.attached:
            towards |= {(one, UDP_PORT) for one, _ in run.placement.addresses}
        if (ip, datagram.port) not in towards:
            raise Violation(Invariant.ANSWERS, f"{node} sends {seen} to {ip}:{datagram.port}")
        run.check(node, seen, datagram.payload)

    # Hosts.

    def _arrive_at_host(self, node: str, frame: bytes, is_damaged: bool) -> None:
        if node == SERVER:
            datagram = kernel.unpack(frame, endpoint(SERVER_ADDRESS[0]))
            if datagram is not None and datagram.port == SERVER_ADDRESS[1]:
                self._check_whole(is_damaged, node)
                sender = ip_text(datagram.source_ip), datagram.source_port
                self._serve(sender, datagram.payload, datagram.congested)
            return
        if node == OUTSIDER:
            return
        worker = self._at_host(node, frame)
        if worker is None:
            return
        datagram = kernel.unpack(frame, endpoint(worker.address[0]))
        # Connected sockets take nothing but the server's.
        if datagram is None or (ip_text(datagram.source_ip), datagram.source_port) != SERVER_ADDRESS:
            return
        self._check_whole(is_damaged, node)
        self._receive(worker.address, datagram.payload)

    @staticmethod
    def _check_whole(is_damaged: bool, node: str) -> None:
        if is_damaged:
            raise Violation(Invariant.ISOLATION, f"a damaged packet passes for whole at {node}")

    def _receive(self, receiver: Address, datagram: bytes) -> None:
        worker = self._sockets[receiver]  # whoever has the address now
        if not worker.over:
            worker.receive(datagram, self.now)

    def _serve(self, sender: Address, datagram: bytes, congested: bool) -> None:
        """A datagram arrives at the server."""
        if not self._server.alive:
            return
        before = self._server.counts()
        answers = self._server.handle(sender, datagram, congested=congested)
        after = self._server.counts()
        for receiver, answer in answers:
            self._check_answer(receiver, answer)
        seen = read(datagram)
        run = self._admitted.get((seen.job, seen.tag))
        decided = [name for name in after if after[name] != before[name]]
        if run is not None and sender in run.placement.addresses and self._server.knows_jobs:
            by_address = {one: worker for worker, one in enumerate(run.placement.addresses)}
            answered = [(by_address[receiver], read(answer), answer) for receiver, answer in answers]
            self._server_ghost.check(run, by_address[sender], seen, decided, answered)
        elif answers or decided != ["refused"]:
            raise Violation(Invariant.ISOLATION, f"the server does {decided} with {seen} of {sender}, who is no member")
        for receiver, answer in answers:
            self._answer(receiver, answer)

    def _check_answer(self, receiver: Address, answer: bytes) -> None:
        seen = read(answer)
        run = self._admitted.get((seen.job, seen.tag))
        if run is None or receiver not in run.placement.addresses:
            raise Violation(Invariant.ISOLATION, f"the server sends {seen} to {receiver}, who is no member")
        run.check(SERVER, seen, answer)

    def _answer(self, receiver: Address, datagram: bytes) -> None:
        """An answer leaves the server."""
        worker = self._sockets[receiver]
        if self._scenario.network != SERVER_ALONE:
            self._say("the server sends {} to {}", read(datagram), worker)
            frame = _frame(SERVER_ADDRESS, receiver, _TO_SWITCH.mac, datagram)
            self._transmit((SERVER, 0), frame, self._layout.trunk_s)
            return
        seen = read(datagram)
        fate = self._network.fate(f"{SERVER}>{host_name(worker.plan.host)}", seen)
        self._say("the server sends {} to {}", seen, worker, fate=fate)
        if fate.damage is not None:
            return  # the worker's kernel drops it
        for delay_s in fate.delays_s:
            self._at(self.now + worker.plan.latency_s + delay_s, self._receive, receiver, datagram)

    # Strays.

    def _stray(self, stray: Stray) -> None:
        run = self._runs.get(stray.line)
        if run is None or stray.worker >= len(run.plan.workers):
            return
        self._say("a stray packet ({})", stray.kind)
        own = run.placement.addresses[stray.worker]
        if self._scenario.network == SERVER_ALONE:
            if strays.is_down(stray.kind):
                self._receive(own, strays.downward(stray, run))
            elif self._server.handle(strays.sender_of(stray, run), strays.upward(stray, run)):
                raise Violation(Invariant.ISOLATION, f"answers to a stray packet ({stray.kind})")
            return
        others = [one for one in self._sockets.values() if one.address[0] != own[0]]
        place = host_name(run.plan.workers[stray.worker].host), 0
        elsewhere = (host_name(others[stray.value % len(others)].plan.host), 0) if others else (OUTSIDER, 0)
        if stray.kind == strays.PASSING:
            self._pass_through(stray, run)
        elif strays.is_down(stray.kind):
            self._inject((SERVER, 0), SERVER_ADDRESS, own, strays.downward(stray, run), stray)
        elif strays.is_false(stray.kind):
            sender = others[stray.value % len(others)].address if others else OUTSIDER_ADDRESS
            source = strays.source_of_false(stray, sender)
            self._inject(elsewhere, source, own, strays.downward(stray, run), stray)
        else:
            begin = place
            if stray.kind == "outsider" or strays.is_spoofed(stray.kind):
                begin = elsewhere if stray.kind == "spoofed_inside" else (OUTSIDER, 0)
            self._inject(begin, strays.sender_of(stray, run), SERVER_ADDRESS, strays.upward(stray, run), stray)

    def _inject(
        self, place: tuple[str, int], source: Address, destination: Address, datagram: bytes, stray: Stray
    ) -> None:
        """A stray goes its way at once and without misfortune; nobody may answer it."""
        for receiver, frame in self._follow(place, _frame(source, destination, _TO_SWITCH.mac, datagram)):
            if receiver == SERVER:
                arrived = kernel.unpack(frame, endpoint(SERVER_ADDRESS[0]))
                if arrived is not None and arrived.port == SERVER_ADDRESS[1]:
                    sender = ip_text(arrived.source_ip), arrived.source_port
                    if self._server.handle(sender, arrived.payload):
                        raise Violation(Invariant.ISOLATION, f"answers to a stray packet ({stray.kind})")
            elif strays.is_down(stray.kind) or strays.is_false(stray.kind):
                self._arrive_at_host(receiver, frame, stray.kind == "false_server")
            else:
                raise Violation(Invariant.ISOLATION, f"answers to a stray packet ({stray.kind})")

    def _follow(self, place: tuple[str, int], frame: bytes) -> list[tuple[str, bytes]]:
        """Where a frame gets to, hop by hop: hosts with what arrives there."""
        arrived = []
        left = [(self._layout.wires[place], frame)]
        while left:
            (node, port), one = left.pop()
            if node not in self._switches:
                arrived.append((node, one))
                continue
            for egress, sent in self._switches[node].process(port, one):
                left.append((self._layout.wires[node, egress], sent))
        return arrived

    def _pass_through(self, stray: Stray, run: JobRun) -> None:
        """Other traffic: goes through unchanged, whatever the switches are busy with."""
        source = run.placement.addresses[stray.worker][0], 1024
        destination = run.placement.addresses[stray.value % len(run.plan.workers)][0], 1024 + stray.value
        if any(node.boots for node in self._switches.values()) or source[0] == destination[0]:
            return
        place = host_name(run.plan.workers[stray.worker].host), 0
        arrived = self._follow(place, _frame(source, destination, _TO_SWITCH.mac, strays.payload(stray)))
        taken = [kernel.unpack(frame, endpoint(destination[0])) for _, frame in arrived]
        if len(taken) != 1 or taken[0] is None or taken[0].payload != strays.payload(stray):
            raise Violation(Invariant.ISOLATION, f"other traffic from {source} to {destination} did not come through")


def _frame(source: Address, destination: Address, next_hop: bytes, datagram: bytes) -> bytes:
    receiver = kernel.Endpoint(endpoint(destination[0]).ip, next_hop)
    return kernel.pack(endpoint(source[0]), receiver, source[1], destination[1], datagram)


def _memory() -> str | None:
    """A folder that is no disk, where there is one."""
    shared = Path("/dev/shm")
    return str(shared) if shared.is_dir() else None
