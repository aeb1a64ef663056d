# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A switch that is compared with its ghost state in every step."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lanesum.protocol.spec import UDP_PORT
from lanesum_fabric.program.switch_job import Role
from tests.reference.slots import Decision
from tests.simulator import kernel
from tests.simulator.ghost import SwitchGhost
from tests.simulator.job import JobRun
from tests.simulator.layout import SERVER_ADDRESSES, Layout, endpoint, ip_text
from tests.simulator.nodes import Key, SwitchNode
from tests.simulator.violation import Invariant, Violation
from tests.simulator.wire import (
    COLLISION,
    CONTRIBUTION,
    ECN,
    HEADER_BYTES,
    RESULT,
    RETRANSMISSION,
    UPPER,
    Seen,
    read,
)

_DECISIONS = tuple(decision.value for decision in Decision)
_TICK_SHIFT = 10  # a tick is 1,024 µs


class WatchedSwitch:
    """A switch and its ghost state.

    Args:
        node: the switch.
        layout: hosts, switches and wires.
        admitted: the present jobs.
        clock: returns virtual time in microseconds.
        say: takes a step in words, as a format and its arguments.
        chip: the switch decides as the Tofino program does.
    """

    def __init__(
        self,
        node: SwitchNode,
        layout: Layout,
        admitted: Mapping[Key, JobRun],
        clock: Callable[[], int],
        say: Callable[..., None],
        *,
        chip: bool = False,
    ) -> None:
        self.node = node
        self.ghost = SwitchGhost(node.name, chip=chip)
        self._layout = layout
        self._admitted = admitted
        self._clock = clock
        self._say = say

    def process(self, port: int, frame: bytes, is_damaged: bool) -> list[tuple[int, bytes]]:
        """Process a frame; return the outgoing frames with their ports. Raises Violation."""
        node = self.node
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
                self._check_forwarded(egress, one)
            else:
                self._check_made(egress, one, body)
                made.append(read(one[kernel.PREFIX_BYTES :]))
        decided = [name for name in _DECISIONS if after[name] != before[name]]
        seen = read(body)
        self._check_decision(frame, seen, decided, made)
        self._check_descent(port, frame, seen, sent)
        return sent

    def _check_descent(self, port: int, frame: bytes, seen: Seen, sent: list[tuple[int, bytes]]) -> None:
        """Check that answers of the upper switch to racks reach all workers below; a replay may have one receiver.

        A switch recognizes answers by the protocol's UDP port: answers to other ports are only routed.
        """
        node = self.node
        run, job = self._admitted.get((seen.job, seen.tag)), node.jobs.get((seen.job, seen.tag))
        if run is None or job is None or not node.knows_jobs or seen.kind == CONTRIBUTION:
            return
        is_replay = seen.kind == RESULT and seen.flags & RETRANSMISSION
        is_recognised = int.from_bytes(frame[36:38], "big") == UDP_PORT
        if not seen.flags & UPPER or port not in job.uplinks or is_replay or not is_recognised:
            return
        wanted = sorted(member.host.ip for member in job.members)
        hosts = {ip: kernel.Endpoint(ip, endpoint(ip_text(ip)).mac) for ip in wanted}
        got = [int.from_bytes(frame[30:34], "big") for _, frame in sent]
        if sorted(got) != wanted or any(
            kernel.unpack(frame, hosts[ip]) is None for ip, (_, frame) in zip(got, sent, strict=True)
        ):
            raise Violation(Invariant.ANSWERS, f"{node.name} does not hand {seen} down to all")

    def _check_decision(self, frame: bytes, seen: Seen, decided: list[str], made: list[Seen]) -> None:
        """Check that the switch decided as its ghost state expects."""
        node = self.node
        if kernel.is_marked(frame):
            seen = seen._replace(flags=seen.flags | ECN)
        source = ip_text(int.from_bytes(frame[26:30], "big")), int.from_bytes(frame[34:36], "big")
        run, job = self._admitted.get((seen.job, seen.tag)), node.jobs.get((seen.job, seen.tag))
        is_member = run is not None and source in run.placement.addresses and seen.kind == CONTRIBUTION
        if run is not None and job is not None and is_member and node.knows_jobs:
            worker = run.placement.addresses.index(source)
            self.ghost.check(run, job, worker, seen, self._clock() >> _TICK_SHIFT, decided, made)
        elif decided:
            raise Violation(Invariant.ISOLATION, f"{node.name} does {decided} with {seen}, which is no member's")

    def _check_forwarded(self, egress: int, frame: bytes) -> None:
        node = self.node.name
        ip = ip_text(int.from_bytes(frame[30:34], "big"))
        if self._layout.host_port(node, ip).port != egress:
            raise Violation(Invariant.ANSWERS, f"{node} sends a packet for {ip} by port {egress}")

    def _check_made(self, egress: int, frame: bytes, cause: bytes) -> None:
        """Check a packet that the switch has sent without receiving it."""
        node = self.node.name
        ip = ip_text(int.from_bytes(frame[30:34], "big"))
        host = self._layout.host_port(node, ip)
        # Between switches it may carry the address of the other one.
        receiver = endpoint(ip) if host.attached else kernel.Endpoint(host.ip, frame[:6])
        datagram = kernel.unpack(frame, receiver)
        if datagram is None or host.port != egress:
            raise Violation(Invariant.ANSWERS, f"{node} sends a frame without receiver by port {egress}: {frame.hex()}")
        if len(datagram.payload) < HEADER_BYTES:
            raise Violation(Invariant.ANSWERS, f"{node} makes a datagram of {len(datagram.payload)} bytes")
        seen = read(datagram.payload)
        collided = cause[:1] + bytes([cause[1] | COLLISION]) + cause[2:] == datagram.payload
        if seen.kind == CONTRIBUTION and (collided or not seen.aggregate):
            job = self.node.jobs.get((seen.job, seen.tag))
            if not collided or job is None or not job.role & Role.SHARED:
                raise Violation(Invariant.ISOLATION, f"{node} changes a contribution on its way: {seen}")
            return
        self._say("{} makes {} for {}", node, seen, ip)
        run = self._admitted.get((seen.job, seen.tag))
        if run is None:
            raise Violation(Invariant.ISOLATION, f"{node} sends {seen} for a job that is not there")
        server = SERVER_ADDRESSES[self._layout.server_of(seen.shadow_slot)]
        towards = {server} if seen.aggregate else set(run.placement.addresses)
        if (ip, datagram.port) not in towards:
            raise Violation(Invariant.ANSWERS, f"{node} sends {seen} to {ip}:{datagram.port}")
        source = ip_text(datagram.source_ip), datagram.source_port
        if not seen.aggregate and source != server:
            raise Violation(
                Invariant.ANSWERS, f"{node} sends {seen} in the name of {source}, who does not have the slot"
            )
        run.check(node, seen, datagram.payload)
        if seen.kind == RESULT and not seen.words and host.attached:
            position = run.truth.position(seen.epoch, seen.chunk)
            owner = None if position is None else run.truth.owner(position)
            if owner is None or run.placement.addresses[owner] == (ip, datagram.port):
                raise Violation(Invariant.ANSWERS, f"{node} sends the owner of a chunk {seen}, without its words")
