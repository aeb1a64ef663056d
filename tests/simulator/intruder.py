# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sender of stray packets, which must have no effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.simulator import kernel, strays
from tests.simulator.job import JobRun
from tests.simulator.layout import (
    OUTSIDER,
    OUTSIDER_ADDRESS,
    SERVER_ADDRESSES,
    Address,
    Layout,
    endpoint,
    frame_to_switch,
    host_name,
    ip_text,
)
from tests.simulator.nodes import ServerNode, SwitchNode
from tests.simulator.scenario import SERVER_ALONE, Stray
from tests.simulator.violation import Invariant, Violation
from tests.simulator.worker import SimulatedWorker


class Intruder:
    """Sends stray packets.

    Args:
        layout: hosts, switches and wires.
        switches: switches by name.
        servers: servers by name.
        sockets: workers by address.
        receive: delivers a datagram to the socket of an address.
        arrive_at_host: delivers a frame to a host; the flag says that it must not get there.
    """

    def __init__(
        self,
        layout: Layout,
        switches: Mapping[str, SwitchNode],
        servers: Mapping[str, ServerNode],
        sockets: Mapping[Address, SimulatedWorker],
        receive: Callable[[Address, bytes], None],
        arrive_at_host: Callable[[str, bytes, bool], None],
    ) -> None:
        self._layout = layout
        self._switches = switches
        self._servers = servers
        self._sockets = sockets
        self._receive = receive
        self._arrive_at_host = arrive_at_host

    def send(self, stray: Stray, run: JobRun) -> None:
        """Send a stray packet aimed at a worker of ``run``. Raises Violation if it has an effect."""
        own = run.placement.addresses[stray.worker]
        server = self._layout.servers[stray.value % len(self._layout.servers)]
        if self._layout.network == SERVER_ALONE:
            if strays.is_down(stray.kind):
                self._receive(own, strays.downward(stray, run))
            elif self._servers[server].handle(strays.sender_of(stray, run), strays.upward(stray, run)):
                raise Violation(Invariant.ISOLATION, f"answers to a stray packet ({stray.kind})")
            return
        others = [one for one in self._sockets.values() if one.address[0] != own[0]]
        place = host_name(run.plan.workers[stray.worker].host), 0
        elsewhere = (host_name(others[stray.value % len(others)].plan.host), 0) if others else (OUTSIDER, 0)
        if stray.kind == strays.PASSING:
            self._pass_through(stray, run)
        elif strays.is_down(stray.kind):
            self._inject((server, 0), SERVER_ADDRESSES[server], own, strays.downward(stray, run), stray)
        elif strays.is_false(stray.kind):
            sender = others[stray.value % len(others)].address if others else OUTSIDER_ADDRESS
            source = strays.source_of_false(stray, sender)
            self._inject(elsewhere, source, own, strays.downward(stray, run), stray)
        else:
            begin = place
            if stray.kind == "outsider" or strays.is_spoofed(stray.kind):
                begin = elsewhere if stray.kind == "spoofed_inside" else (OUTSIDER, 0)
            source = strays.sender_of(stray, run)
            self._inject(begin, source, SERVER_ADDRESSES[server], strays.upward(stray, run), stray)

    def _inject(
        self, place: tuple[str, int], source: Address, destination: Address, datagram: bytes, stray: Stray
    ) -> None:
        """Send a stray packet without delay or fault; no node may answer it."""
        for receiver, frame in self._follow(place, frame_to_switch(source, destination, datagram)):
            if receiver in self._servers:
                ip, port = SERVER_ADDRESSES[receiver]
                arrived = kernel.unpack(frame, endpoint(ip))
                if arrived is not None and arrived.port == port:
                    sender = ip_text(arrived.source_ip), arrived.source_port
                    if self._servers[receiver].handle(sender, arrived.payload):
                        raise Violation(Invariant.ISOLATION, f"answers to a stray packet ({stray.kind})")
            elif strays.is_down(stray.kind) or strays.is_false(stray.kind):
                self._arrive_at_host(receiver, frame, stray.kind == "false_server")
            else:
                raise Violation(Invariant.ISOLATION, f"answers to a stray packet ({stray.kind})")

    def _follow(self, place: tuple[str, int], frame: bytes) -> list[tuple[str, bytes]]:
        """Follow a frame hop by hop; return the hosts that it reaches, with the frames."""
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
        """Send other traffic, which the network must deliver unchanged."""
        source = run.placement.addresses[stray.worker][0], 1024
        destination = run.placement.addresses[stray.value % len(run.plan.workers)][0], 1024 + stray.value
        if any(node.boots for node in self._switches.values()) or source[0] == destination[0]:
            return
        place = host_name(run.plan.workers[stray.worker].host), 0
        arrived = self._follow(place, frame_to_switch(source, destination, strays.payload(stray)))
        taken = [kernel.unpack(frame, endpoint(destination[0])) for _, frame in arrived]
        if len(taken) != 1 or taken[0] is None or taken[0].payload != strays.payload(stray):
            raise Violation(Invariant.ISOLATION, f"other traffic from {source} to {destination} did not come through")
