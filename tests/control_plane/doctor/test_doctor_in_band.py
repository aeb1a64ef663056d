# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Echo requests that expire at each switch between two racks; the switches are models in this process."""

from __future__ import annotations

import collections
import struct
from collections.abc import Callable
from typing import Any

import pytest

from bmv2_tests.target import Clock
from lanesum.doctor.finding import Severity
from lanesum.transport import echo
from lanesum_control.controller.controller import Controller
from lanesum_control.doctor import hops, in_band
from lanesum_control.planner.network import Network
from lanesum_control.servers.controlled_server import NoServer
from lanesum_control.switches.managed import ManagedSwitch
from lanesum_fabric.program.switch_job import Station
from lanesum_fabric.topology import available
from lanesum_fabric.topology.files import parse
from lanesum_switch.frames import internet_checksum, ipv4_int
from tests.reference.switch import ReferenceSwitch

NUMBER = 7
ROUTE = [in_band.Hop("s1", 1, 5), in_band.Hop("s0", 1, 5)]


class Racks:
    """Two racks; s0 has an address, s1 has none. Worker w1 sends.

    Attributes:
        cut: (switch, port) of cables that carry nothing.
        tag: insert a VLAN tag into frames of the worker.
        port: port of the worker at s1.
    """

    def __init__(self) -> None:
        text = available()["tree2x2"].read_text().replace("s0: {kind: switch}", "s0: {kind: switch, ip: 10.19.0.250}")
        topology = parse(text, "tree2x2")
        self.clock = Clock()
        self.switches = {name: ReferenceSwitch(clock=self.clock.microseconds) for name in topology.switches()}
        self.network = Network.of(topology, loopback=False)
        self.controller = Controller(
            self.network, NoServer(), {name: ManagedSwitch(switch) for name, switch in self.switches.items()}
        )
        for name, ip in self.network.own.items():
            self.switches[name].set_station(Station(ipv4_int(ip)))
        self.cables = {(one, port): (to, at) for one, port, to, at in self.network.links}
        self.cables |= {end: begin for begin, end in self.cables.items()}
        self.cut: set[tuple[str, int]] = set()
        self.tag, self.port = b"", 1

    def probe(self, ip: str, packet_bytes: int = 0, ttl: int = 64) -> echo.Answers:
        """Do what ``echo.probe`` does, without sockets."""
        host = self.network.host("w1")
        times: dict[str, list[float]] = {}
        for sequence in range(echo.PROBES):
            self.clock.advance(1)
            request = struct.pack(">BBHHH", 8, 0, 0, NUMBER, sequence) + bytes(packet_bytes - 28)
            request = request[:2] + internet_checksum(request).to_bytes(2, "big") + request[4:]
            header = struct.pack(">BBHHHBBHII", 0x45, 0, packet_bytes, 0, 0, ttl, 1, 0, host.ip, ipv4_int(ip))
            header = header[:10] + internet_checksum(header).to_bytes(2, "big") + header[12:]
            frame = bytes.fromhex("02000000ffff") + host.mac + self.tag + b"\x08\x00" + header + request
            for answer in self._carry(frame):
                if echo.answered(answer[14:], NUMBER) == sequence:
                    times.setdefault(".".join(map(str, answer[26:30])), []).append(0.001)
        return echo.Answers(echo.PROBES, times)

    def _carry(self, frame: bytes) -> list[bytes]:
        """Return the frames that reach the worker."""
        arriving, reached = collections.deque([("s1", self.port, frame)]), []
        while arriving:
            switch, port, data = arriving.popleft()
            for out, sent in self.switches[switch].process(port, data):
                if (switch, out) == ("s1", self.port):
                    reached.append(sent)
                elif (switch, out) in self.cables and (switch, out) not in self.cut:
                    arriving.append((*self.cables[switch, out], sent))
        return reached

    def counts(self) -> dict[str, dict[str, int]]:
        switches: dict[str, dict[str, int]] = self.controller.counters()["switches"]
        return switches

    def checks(self) -> list[Any]:
        examined = self.controller.examine()
        route = in_band.path(examined, "w1", "server")
        assert route == ROUTE
        return list(in_band.checks("server", "10.19.0.100", route, examined, 316, self.counts))


def test_path_without_switch_has_no_hops() -> None:
    hosts = {name: {"switch": None, "port": None} for name in ("w1", "server")}
    assert in_band.path({"hosts": hosts, "links": []}, "w1", "server") == []


@pytest.fixture
def racks(monkeypatch: pytest.MonkeyPatch) -> Racks:
    made = Racks()
    monkeypatch.setattr(echo, "probe", made.probe)
    return made


def test_in_band_probes_reach_every_path_switch(racks: Racks) -> None:
    first, second = racks.checks()
    assert (first.name, first.status, second.name, second.status) == (
        "hop 1 to server", Severity.OK, "hop 2 to server", Severity.OK,
    )  # fmt: skip
    assert first.what == (
        "s1, in at port 1 and out at port 5: 10 of 10 requests arrived; no RTT, as it reports no expired packets."
    )
    assert second.what.startswith(
        "s0, in at port 1 and out at port 5: 10 of 10 requests arrived; RTT 1,000 to 1,000 µs"
    )


def _cut(racks: Racks) -> None:
    racks.cut.add(("s1", 5))


def _tagged(racks: Racks) -> None:
    racks.tag = b"\x81\x00\x00\x05"


def _other_port(racks: Racks) -> None:
    racks.port = 3


@pytest.mark.parametrize(
    ("deed", "status", "says", "step"),
    [
        (_cut, Severity.NOTE, "no switch counted one: the link between s1 and s0 is down", "ip -s link"),
        (_tagged, Severity.PROBLEM, "s1 drops packets with a VLAN tag", "untagged"),
        (_other_port, Severity.PROBLEM, "s1 drops packets from another port than the topology has", "Move the cable"),
    ],
)
def test_in_band_first_hop_that_fails_is_named(
    racks: Racks, deed: Callable[[Racks], None], status: Severity, says: str, step: str
) -> None:
    deed(racks)
    *before, found = racks.checks()
    assert all(one.status is Severity.OK for one in before)
    assert (found.status, says in found.what, step in found.next_step) == (status, True, True), found


@pytest.mark.parametrize(
    ("grown", "times", "status", "says", "goes_on"),
    [
        ({"s1": {"drop_expired": 7}}, {}, Severity.NOTE, "The link between s0 and s1 loses packets", True),
        ({}, {"10.0.0.1": [0.001] * 10}, Severity.OK, "10 of 10 requests arrived", True),
        ({}, {}, Severity.NOTE, "does not read its counters", True),
        ({"s1": {}, "s2": {"drop_expired": 10}}, {}, Severity.PROBLEM, "They went to s2", False),
        ({"s1": {}, "s0": {"drop_no_route": 10}}, {}, Severity.PROBLEM, "s0 drops packets without a route", False),
    ],
)
def test_in_band_outcomes_of_a_hop(
    grown: Any, times: dict[str, list[float]], status: Severity, says: str, goes_on: bool
) -> None:
    route = [in_band.Hop("s0", 1, 2), in_band.Hop("s1", 1, 5)]
    finding, onward = in_band.about_hop(
        "hop 2", route[1], "s0", route, echo.Answers(10, times), grown, {"ip": "10.0.0.1"}
    )
    assert (finding.status, says in finding.what, onward) == (status, True, goes_on), finding
    assert bool(finding.next_step) == (status is not Severity.OK)


def test_in_band_drops_are_decisions_of_a_switch() -> None:
    assert set(in_band._DROPPED) | {in_band._EXPIRED} <= set(ReferenceSwitch().decisions())


def test_hops_of_host_in_topology_are_probed(racks: Racks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hops, "path_mtu", lambda _here, _there: 1500)
    for here, hops_found in (("10.19.0.1", ["hop 1 to server", "hop 2 to server"]), ("10.19.0.100", [])):
        monkeypatch.setattr(hops, "own_address", lambda _peer, here=here: here)
        names = [one.name for one in hops.checks(racks.controller.examine(), racks.counts)]
        assert names[names.index("first hop to server") + 1 :] == hops_found
