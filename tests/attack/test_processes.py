# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Attacker processes on real links, while an honest job does its rounds.

::

    w1, w2      honest  --1,2 +----------+ 8-- controller   attacks at full speed; no member of anything
    w3     another job  --3   | embedded |
    w4   former member  --4   |  switch  | 5-- server
                              +----------+

Every host has a network namespace and a kernel of its own to talk to: sockets, ARP and checksums are the real ones.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lanesum.protocol import LaneOp
from lanesum.protocol.spec import UDP_PORT
from lanesum.server import AggregationServer
from lanesum.transport import JobTicket
from lanesum.transport.options import SessionOptions
from lanesum.transport.udp import UdpTransport
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.planner.network import Network
from lanesum_control.switches.managed import RemoteSwitch
from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_fabric.program.switch_job import SWITCH_MAC
from lanesum_fabric.topology import Topology, load
from lanesum_lab.veth import end, inside, obstacle, switch_interface
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.frames import UdpFrame, ipv4_int, mac_bytes
from lanesum_switch.p4runtime import P4RuntimeServer
from lanesum_switch.ports.afpacket import AfPacketPort
from lanesum_switch.ports.port import Port
from lanesum_switch.ports.runner import PortRunner
from tests.attack import flood
from tests.attack.attacker import Attacker, CapturedTraffic, Host
from tests.attack.flood import Order
from tests.attack.kinds import ANY_PORT, FORMER_MEMBER, MEMBER_OF_ANOTHER_JOB

from .namespaces import INTERFACE, namespaces, within

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(obstacle()), reason=obstacle() or "namespaces can be made"),
]

Words = NDArray[np.uint32]
HONEST = ("w1", "w2")
OPS = (LaneOp.ADD32, LaneOp.MAX)
SLOTS = 16
ROUNDS = 40
PACKETS = 40  # of a round
DEADLINE_S = 200.0  # for a round without any progress; noise is far below
# Frames a second; 0: as fast as it can.
PACE = {"controller": 0.0, "w3": 1500.0, "w4": 1500.0}

CLASSIFIED = (
    "aggregate", "route", "route_past", "route_other_size", "descend_or_route", "answer_arp", "drop_malformed",
    "drop_corrupt", "drop_tagged", "drop_misdirected", "drop_unknown",
)  # fmt: skip
EXPECTED_AT_SWITCH = (
    "drop_spoofed", "drop_forged", "not_a_member", "refuse_slot", "refuse_op", "drop_malformed", "drop_corrupt",
    "drop_tagged", "drop_misdirected", "drop_unknown", "drop_expired", "drop_no_route", "route_past",
    "route_other_size", "descend_or_route",
)  # fmt: skip
EXPECTED_AT_SERVER = {
    "not a member", "wrong tag", "slot out of range", "operation not allowed", "not a contribution", "other version",
}  # fmt: skip


class Tap:
    """A port, and all that came in by it."""

    def __init__(self, port: Port) -> None:
        self._port = port
        self.fileno, self.send, self.close = port.fileno, port.send, port.close
        self.received: list[bytes] = []

    def receive_batch(self) -> list[bytes]:
        frames = self._port.receive_batch()
        self.received += frames
        return frames


class Site:
    """Switch, server and controller of a topology, and workers that open their sockets where they belong."""

    def __init__(self, folder: Path, topology: Topology, stack: contextlib.ExitStack) -> None:
        self.topology = topology
        self.names = stack.enter_context(namespaces(topology))
        self._stack = stack
        network = Network.of(topology, loopback=False)
        self.device = EmbeddedSwitch()
        address = f"unix:{folder}/p4runtime"
        stack.enter_context(P4RuntimeServer(self.device, address, 1))
        self.taps = within(self.names[topology.switch], self._open_ports)
        self.runner = stack.enter_context(PortRunner(self.device, self.taps))
        self.server = stack.enter_context(within(self.names["server"], lambda: AggregationServer(network.servers[0])))
        remote = RemoteSwitch(address, bmv2_pipeline())
        self.controller = Controller(network, self.server, {"s1": remote}, connect_timeout_s=60)
        stack.callback(self.controller.close)

    def _open_ports(self) -> dict[int, Tap]:
        return {port: Tap(AfPacketPort(switch_interface(port))) for port in self.topology.ports().values()}

    def admit(self, name: str, *workers: str) -> list[JobTicket]:
        self.controller.admit(JobRequest(name, workers, slots=SLOTS, codec=None, ops=OPS))
        return self.join(name)

    def join(self, name: str) -> list[JobTicket]:
        workers = self.controller.job(name).request.workers
        return [self.controller.join(name, worker) for worker in range(len(workers))]

    def host(self, name: str) -> Host:
        return Host(mac_bytes(self.topology.nodes[name].mac_text), ipv4_int(str(self.topology.nodes[name].ip)))

    def transport(self, host: str, ticket: JobTicket) -> UdpTransport:
        transport = within(self.names[host], lambda: UdpTransport(ticket, SessionOptions(deadline_s=DEADLINE_S)))
        self._stack.callback(transport.close)
        return transport

    def attack(self, host: str, order: Order, folder: Path) -> subprocess.Popen[bytes]:
        path = folder / f"{host}.json"
        path.write_text(order.to_json())
        command = [sys.executable, "-m", flood.__name__, str(path), INTERFACE]
        process = subprocess.Popen(inside(self.names[host], command), stdout=subprocess.PIPE, start_new_session=True)
        self._stack.callback(end, process)
        return process

    def wait_until_refused(self, before: dict[str, int]) -> None:
        """Every reason has come up: the rounds may have been over before the attackers had done everything once."""
        while any(self.controller.counters()["packets"][name] <= before[name] for name in EXPECTED_AT_SWITCH) or (
            not set(self.server.aggregator.refused) >= EXPECTED_AT_SERVER
        ):
            time.sleep(0.2)

    def settled_counters(self) -> tuple[dict[str, Any], int]:
        """Counters once nothing waits in sockets any more, and the number of frames that came in until then."""
        while True:
            received = sum(self.runner.counts.received.values())
            counters = self.controller.counters()
            time.sleep(0.5)
            if sum(self.runner.counts.received.values()) == received and self.controller.counters() == counters:
                return counters, received


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with contextlib.ExitStack() as stack:
        yield Site(tmp_path, load("star4"), stack)


def run_rounds(transports: list[UdpTransport], number: int, first: int = 0) -> None:
    """Rounds of all workers, in threads; every sum at every worker is exact."""
    problems: list[BaseException] = []

    def words(worker: int, number: int) -> Words:
        rng = np.random.default_rng((worker, number))
        return rng.integers(0, 1 << 32, PACKETS * transports[0].ticket.accumulator_words, np.uint32)

    def work(worker: int) -> None:
        try:
            for number_ in range(first, first + number):
                op = OPS[number_ % len(OPS)]
                done = transports[worker].exchange(op, words(worker, number_))
                result, contributors = done.result(), done.contributors()
                both = [words(one, number_) for one in range(len(transports))]
                assert result.tolist() == (sum(both[1:], both[0]) if op is LaneOp.ADD32 else np.max(both, 0)).tolist()
                assert set(contributors.ravel().tolist()) == {(1 << len(transports)) - 1}
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(len(transports))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


def captured(site: Site, tickets: list[JobTicket]) -> CapturedTraffic:
    """Everything that the honest workers have sent so far."""
    macs = tuple(site.host(worker).mac for worker in HONEST)
    traffic = CapturedTraffic(tuple(tickets), macs, site.host("server").mac, SWITCH_MAC)
    for worker in HONEST:
        for frame in site.taps[site.topology.ports()[worker]].received:
            datagram = UdpFrame.unpack(frame)
            if datagram is not None and datagram.destination_port == UDP_PORT:
                traffic.capture(frame)
    return traffic


def test_flooding_processes_change_no_sum_nor_stop_workers(site: Site, tmp_path: Path) -> None:
    former = site.admit("honest", *HONEST, "w4")[-1]
    site.controller.leave("honest", "w4")
    tickets = site.join("honest")
    (other,) = site.admit("other", "w3")
    assert (former.job, former.tag) != (tickets[0].job, tickets[0].tag)
    transports = [site.transport(worker, ticket) for worker, ticket in zip(HONEST, tickets, strict=True)]
    run_rounds(transports, 2)
    traffic = captured(site, tickets)
    assert len(traffic.frames) >= 2 * 2 * PACKETS

    orders = {
        "controller": Order(Attacker(traffic, site.host("controller")), ANY_PORT),
        "w3": Order(Attacker(traffic, site.host("w3"), other), MEMBER_OF_ANOTHER_JOB, PACE["w3"], 1),
        "w4": Order(Attacker(traffic, site.host("w4"), former), FORMER_MEMBER, PACE["w4"], 2),
    }
    before = site.controller.counters()
    attackers = {host: site.attack(host, order, tmp_path) for host, order in orders.items()}
    for process in attackers.values():
        assert process.stdout is not None
        assert process.stdout.readline().decode().strip() == flood.READY
    run_rounds(transports, ROUNDS, first=2)
    site.wait_until_refused(before["packets"])
    sent = {}
    for host, process in attackers.items():
        assert process.poll() is None, "it was there all the time"
        process.terminate()
        sent[host] = json.loads(process.communicate()[0])["sent"]

    counters, received = site.settled_counters()
    counts = counters["packets"]
    honest = sum(transport.stats.packets_sent - transport.stats.bypasses for transport in transports)
    assert counts["accept"] <= honest, "no frame of an attacker reached a slot"
    at_server = counters["server"]["decisions"]
    # A packet that went past the switch, because the flood made it late, was completed by the server.
    completed = counts["contribute_and_complete"] + at_server.get("contribute_and_complete", 0)
    assert completed >= (2 + ROUNDS) * PACKETS
    openings = len(transports)  # go past the switch too, before the counts of a session
    assert sum(at_server.values()) <= openings + sum(transport.stats.bypasses for transport in transports)
    assert sum(counts[name] for name in CLASSIFIED) == received, "every frame, once"
    assert set(counters["server"]["refused"]) == EXPECTED_AT_SERVER
    assert site.server.broken == 0
    assert all(sum(by_kind.values()) > 0 for by_kind in sent.values())
    # No job was removed or changed.
    assert {job.request.name for job in site.controller.jobs()} == {"honest", "other"}
    run_rounds(transports, 2, first=2 + ROUNDS)
