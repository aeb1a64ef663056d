# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Aggregation points behind one small interface: the server's logic, and the reference switch frame by frame."""

from __future__ import annotations

import collections
import functools
from typing import Protocol

from lanesum.protocol.frames import UdpFrame, ipv4_int, ipv4_text, udp_prefix
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import UDP_PORT
from lanesum.server.aggregator import Aggregator, ServerJob
from lanesum.simulator.scenario import SWITCH, JobPlan, Scenario
from lanesum.simulator.violation import Invariant, Violation
from lanesum_control.model import SWITCH_MAC, HostPort, Member, SwitchJob
from lanesum_switch.reference_switch import ReferenceSwitch

Address = tuple[str, int]
Datagrams = list[tuple[Address, bytes]]
Counts = collections.Counter[str]

SERVER: Address = ("10.0.1.1", UDP_PORT)
# On a port and with an address of its own; member of nothing.
OUTSIDER: Address = ("10.0.2.1", 40000)
_SERVER_PORT, _OUTSIDER_PORT = 100, 101
_FIRST_UDP_PORT = 40000
MAX_WORKERS = 16


def address(line: int, worker: int) -> Address:
    """Worker ``worker`` of every line runs on the same host, with a port for each line."""
    return f"10.0.0.{worker + 1}", _FIRST_UDP_PORT + line


def code_table(line: int) -> bytes:
    """Each line has its own, so that mixing them up shows."""
    return bytes((17 * entry + 5 * line + entry * entry) & 0xFF for entry in range(16))


class Point(Protocol):
    """Where contributions are summed."""

    def admit(self, line: int, plan: JobPlan) -> None:
        """Serve a job in a line's slots."""

    def remove(self, line: int, plan: JobPlan) -> None:
        """Take it out again."""

    def deliver(self, sender: Address, datagram: bytes, *, spoofed: bool = False) -> Datagrams:
        """A datagram arrives; returns the answers. ``spoofed``: from the outsider's place, with another's address."""

    def decisions(self) -> Counts:
        """Contributions of members by decision, and ``refused`` for whatever else spoke of a job."""


class AggregatorPoint:
    """``Aggregator``: datagrams in, datagrams out."""

    def __init__(self, accumulator_words: int) -> None:
        self._words = accumulator_words
        self._aggregator = Aggregator()

    def admit(self, line: int, plan: JobPlan) -> None:
        members = {address(line, worker): worker for worker in range(len(plan.workers))}
        self._aggregator.admit(
            ServerJob(plan.job, plan.tag, members, plan.slots, tuple(LaneOp), code_table(line), self._words)
        )

    def remove(self, line: int, plan: JobPlan) -> None:
        self._aggregator.remove(plan.job)

    def deliver(self, sender: Address, datagram: bytes, *, spoofed: bool = False) -> Datagrams:
        return self._aggregator.handle(OUTSIDER if spoofed else sender, datagram)

    def decisions(self) -> Counts:
        counts = Counts({decision.value: number for decision, number in self._aggregator.decisions.items()})
        counts["refused"] = self._aggregator.refused.total()
        return counts


@functools.cache
def _host(ip: str) -> HostPort:
    number = int(ip.rsplit(".", 1)[1])
    port = {SERVER[0]: _SERVER_PORT, OUTSIDER[0]: _OUTSIDER_PORT}.get(ip, number - 1)
    return HostPort(port, ipv4_int(ip), bytes([2, 0, 0, 0, 0, port]))


@functools.lru_cache(maxsize=4096)
def _prefix(sender: Address, payload_bytes: int) -> bytes:
    source, server = _host(sender[0]), _host(SERVER[0])
    frame = UdpFrame(source.mac, SWITCH_MAC, source.ip, server.ip, sender[1], SERVER[1], b"")
    return udp_prefix(frame, payload_bytes)


class SwitchPoint:
    """``ReferenceSwitch`` with all hosts around it and an aggregation server that knows no job."""

    def __init__(self, scenario: Scenario) -> None:
        self._bases: list[int] = []
        slots = 0
        for line in scenario.lines:
            self._bases.append(slots)
            slots += line.slots
        self._switch = ReferenceSwitch(scenario.accumulator_words, slots=slots)
        self._server = Aggregator()
        workers = max(len(job.workers) for line in scenario.lines for job in line.jobs)
        for ip in (SERVER[0], OUTSIDER[0], *(address(0, worker)[0] for worker in range(workers))):
            self._switch.add_host(_host(ip))

    def _job(self, line: int, plan: JobPlan) -> SwitchJob:
        members = tuple(
            Member(worker, (_host(address(line, worker)[0]),), address(line, worker)[1])
            for worker in range(len(plan.workers))
        )
        return SwitchJob(
            plan.job, plan.tag, self._bases[line], plan.slots, line + 1, members, tuple(LaneOp), code_table(line)
        )

    def admit(self, line: int, plan: JobPlan) -> None:
        self._switch.admit(self._job(line, plan))

    def remove(self, line: int, plan: JobPlan) -> None:
        self._switch.remove(self._job(line, plan))

    def deliver(self, sender: Address, datagram: bytes, *, spoofed: bool = False) -> Datagrams:
        port = _OUTSIDER_PORT if spoofed else _host(sender[0]).port
        answers = []
        for egress, frame in self._switch.process(port, _prefix(sender, len(datagram)) + datagram):
            answer = UdpFrame.unpack(frame)
            if answer is None:
                raise Violation(Invariant.ANSWERS, "the switch sent a frame that is no UDP over IPv4")
            ip = ipv4_text(answer.destination_ip)
            if egress != _host(ip).port or answer.destination_mac != _host(ip).mac:
                raise Violation(Invariant.ANSWERS, f"a frame for {ip} left by port {egress}")
            if ip == SERVER[0]:
                if answer.payload != datagram:
                    raise Violation(Invariant.ISOLATION, "what was routed to the server arrived changed")
                answers += self._server.handle(sender, answer.payload)
            elif (ipv4_text(answer.source_ip), answer.source_port) != SERVER:
                raise Violation(Invariant.ANSWERS, "an answer did not come from the server's address")
            else:
                answers.append(((ip, answer.destination_port), answer.payload))
        return answers

    def pass_through(self, sender: Address, receiver: Address, payload: bytes) -> None:
        """Other traffic: goes through unchanged, whatever the switch is busy with."""
        source, destination = _host(sender[0]), _host(receiver[0])
        frame = UdpFrame(source.mac, SWITCH_MAC, source.ip, destination.ip, sender[1], receiver[1], payload)
        sent = self._switch.process(source.port, frame.pack())
        arrived = UdpFrame.unpack(sent[0][1]) if len(sent) == 1 else None
        if arrived is None or sent[0][0] != destination.port or arrived.payload != payload:
            raise Violation(Invariant.ISOLATION, f"other traffic from {sender} to {receiver} did not come through")

    def decisions(self) -> Counts:
        counts = Counts(self._switch.decisions())
        refused = counts["aggregate"] - counts["accept"]
        for name in ("drop_malformed", "route_other_size"):
            refused += counts[name]
        return Counts({**{name: counts[name] for name in _SLOT_DECISIONS}, "refused": refused})


_SLOT_DECISIONS = (
    "claim", "claim_and_complete", "contribute", "contribute_and_complete", "replay", "report_pending", "drop_late",
    "drop_conflict",
)  # fmt: skip


def make_point(scenario: Scenario) -> Point:
    """The aggregation point that a scenario names."""
    return SwitchPoint(scenario) if scenario.point == SWITCH else AggregatorPoint(scenario.accumulator_words)
