# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Placement of jobs: one level, racks, quorums, and switches that are left out."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from lanesum_control.errors import AdmissionError
from lanesum_control.planner.network import Network
from lanesum_control.planner.placement import Placement, place
from lanesum_fabric.program.switch_job import NO_ROLE, HostPort, Role
from lanesum_fabric.topology import TopologyBuilder, load
from lanesum_fabric.topology.model import NO_SWITCH
from lanesum_fabric.topology.spines import LOST
from lanesum_switch.frames import ipv4_int

STAR = Network.of(load("star4"), loopback=False)
TREE = Network.of(load("tree2x2"), loopback=False)
ALL_WORKERS = ("w1", "w2", "w3", "w4")


def placed(
    hosts: tuple[str, ...], network: Network = TREE, *, quorum: int = 0, unavailable: dict[str, str] | None = None
) -> Placement:
    return place(hosts, network, quorum=quorum, udp_port=19539, unavailable=unavailable or {})


def roles(placement: Placement) -> dict[str, Role]:
    return {one.switch: one.role for one in placement.assignments}


def big(switches: dict[str, int], upper: str = "s0") -> Network:
    """Return a network with this many workers at every switch; the server is at ``upper``."""
    at = {f"w{switch}n{n}": switch for switch, count in switches.items() for n in range(count)} | {"server": upper}
    seen = {
        here: {
            host: HostPort(n, ipv4_int("10.0.0.1") + n, b"\2" * 6, attached=at[host] == here)
            for n, host in enumerate(at)
        }
        for here in (*switches, upper)
    }
    return Network(upper, at, seen, ("server",), (("10.0.0.1", 19539),))


def test_one_switch_makes_the_results() -> None:
    placement = placed(ALL_WORKERS, STAR)
    (one,) = placement.assignments
    assert (one.switch, one.role, one.threshold, one.uplinks) == ("s1", NO_ROLE, 0, ())
    assert [(member.worker, member.host.port, member.aggregate) for member in one.members] == [
        (0, 1, False), (1, 2, False), (2, 3, False), (3, 4, False),
    ]  # fmt: skip
    assert (placement.places, placement.left_out) == ((), {})


def test_workers_of_one_rack_need_no_second_level() -> None:
    placement = placed(("w3", "w4"))
    assert roles(placement) == {"s2": NO_ROLE}
    assert placement.places == ()


def test_two_racks_and_the_switch_above() -> None:
    placement = placed(("w1", "w3", "w2", "w4"))
    assert roles(placement) == {"s1": Role.ASCEND, "s2": Role.ASCEND, "s0": Role.UPPER}
    assert placement.places == ((0, 0), (1, 0), (0, 1), (1, 1))
    s1, s2, s0 = placement.assignments
    assert (s1.uplinks, s2.uplinks, s0.uplinks) == ((5,), (5,), ())
    assert [(member.worker, member.host.port) for member in s2.members] == [(0, 1), (1, 2)]
    assert [(m.worker, m.aggregate, [host.port for host in m.hosts]) for m in s0.members] == [
        (0, True, [1, 1]), (1, True, [2, 2]),
    ]  # fmt: skip
    assert not any(host.attached for member in s0.members for host in member.hosts)


def test_members_send_from_the_port_of_the_job() -> None:
    """Also racks: their aggregates keep the source of the worker that completed them."""
    assignments = place(ALL_WORKERS, TREE, quorum=0, udp_port=40000, unavailable={}).assignments
    assert {member.udp_port for one in assignments for member in one.members} == {40000}


def test_worker_at_upper_switch_is_own_rack() -> None:
    network = big({"s1": 2, "s0": 2})
    placement = placed(("ws1n0", "ws0n0", "ws1n1", "ws0n1"), network)
    assert placement.places == ((0, 0), (1, 0), (0, 1), (2, 0))
    assert roles(placement) == {"s1": Role.ASCEND, "s0": Role.UPPER}
    assert [(m.worker, m.aggregate, len(m.hosts)) for m in placement.assignments[1].members] == [
        (0, True, 2), (1, False, 1), (2, False, 1),
    ]  # fmt: skip


def test_with_a_quorum_the_server_decides() -> None:
    (one,) = placed(ALL_WORKERS, STAR, quorum=3).assignments
    assert (one.role, one.threshold, one.uplinks) == (Role.ASCEND | Role.QUORUM, 3, ())
    placement = placed(ALL_WORKERS, quorum=3)
    assert roles(placement) == {"s1": Role.ASCEND | Role.QUORUM, "s2": Role.ASCEND | Role.QUORUM}
    assert [(one.threshold, one.uplinks) for one in placement.assignments] == [(0, ()), (0, ())]
    assert placement.left_out == {"s0": "with a quorum the server decides"}


@pytest.mark.parametrize(
    ("unavailable", "stay", "left_out"),
    [
        ({"s0": "it burns"}, {"s1", "s2"}, {"s0": "it burns"}),
        ({"s1": "it burns"}, {"s2"}, {"s1": "it burns", "s0": "its results would lack the workers at s1"}),
        ({"s0": "x", "s1": "y", "s2": "z"}, set(), {"s0": "x", "s1": "y", "s2": "z"}),
    ],
)
def test_server_stands_in_for_switches_that_are_out(
    unavailable: dict[str, str], stay: set[str], left_out: dict[str, str]
) -> None:
    """Contributions of a rack that is not summed are no members above; the server then sums the other racks, too."""
    placement = placed(ALL_WORKERS, unavailable=unavailable)
    assert set(roles(placement)) == stay
    assert placement.left_out == left_out
    assert placement.places == placed(ALL_WORKERS).places, "places do not depend on which switches are up"


def test_more_workers_than_a_bitmap_holds() -> None:
    network = big({"s0": 40})
    placement = placed(tuple(host for host in network.at if host != "server"), network)
    assert not placement.assignments
    assert placement.left_out == {"s0": "it has 40 of the job's workers, and a bitmap holds 32"}
    assert len(set(placement.places)) == 40
    assert placement.places[33] == (1, 1)
    network = big({"s1": 33, "s2": 2, "s0": 0})
    placement = placed(tuple(host for host in network.at if host != "server"), network)
    assert roles(placement) == {"s2": Role.ASCEND}
    assert placement.left_out["s0"] == "its results would lack the workers at s1"


def test_more_members_than_the_upper_switch_has_bits() -> None:
    network = big({"s1": 2, "s0": 32})
    placement = placed(tuple(host for host in network.at if host != "server"), network)
    assert roles(placement) == {"s1": Role.ASCEND}
    assert placement.left_out == {"s0": "its 32 workers and the racks are more members than 32"}
    assert max(rack for rack, _ in placement.places) == 1


def test_more_racks_than_a_packet_names() -> None:
    network = big({f"s{n}": 1 for n in range(1, 34)})
    with pytest.raises(AdmissionError, match="33 workers are 33 racks of at most 32, but a packet names 32"):
        placed(tuple(host for host in network.at if host != "server"), network)


CHIP_HOSTS = {f"w{port}": HostPort(port, 0x0A000001 + port, bytes(6)) for port in (*range(40), *range(128, 170), 256)}
SEEN = {"s1": CHIP_HOSTS | {"server": HostPort(60, 1, bytes(6))}}
CHIP = Network("s1", dict.fromkeys(SEEN["s1"], "s1"), SEEN, ("server",), ())


def in_pipes(*ports: int, quorum: int = 0, number: int = 0, network: Network = CHIP, **unavailable: str) -> Placement:
    hosts = [f"w{port}" for port in ports]
    return place(
        hosts, network, quorum=quorum, udp_port=19539, unavailable=unavailable, chips={"s1"}, number=number
    )  # fmt: skip


def test_pipes_of_chip_are_racks_and_largest_combines() -> None:
    placement = in_pipes(0, 128, 129, 256)
    (one,) = placement.assignments
    assert (one.switch, one.role, one.combining_pipe, one.uplinks) == ("s1", Role.UPPER, 1, ())
    assert [(m.worker, m.aggregate, [host.port for host in m.hosts]) for m in one.members] == [
        (0, True, [0]), (1, False, [128]), (2, False, [129]), (3, True, [256]),
    ]  # fmt: skip
    assert placement.places == ((0, 0), (1, 0), (2, 0), (3, 0))
    assert in_pipes(0, 1, 128).places == ((0, 0), (1, 0), (2, 0))
    assert in_pipes(0, 128, 1, 129, 2).places == ((0, 0), (3, 0), (1, 0), (3, 1), (2, 0))


def test_pipes_with_as_many_workers_combine_in_turn() -> None:
    assert [in_pipes(0, 128, number=number).assignments[0].combining_pipe for number in range(4)] == [0, 1, 0, 1]
    assert {in_pipes(0, 1, 128, number=number).assignments[0].combining_pipe for number in range(4)} == {0}


def test_workers_without_several_pipes_have_one_level() -> None:
    assert in_pipes(128, 129).assignments[0].combining_pipe is None
    flat = place(["w0", "w128"], CHIP, quorum=0, udp_port=19539, unavailable={})
    assert (flat.assignments[0].role, flat.places) == (NO_ROLE, ())


def test_with_a_quorum_pipes_have_no_part() -> None:
    """The whole switch is asked, which refuses members of several pipes."""
    (one,) = in_pipes(0, 128, quorum=1).assignments
    assert (one.combining_pipe, one.role) == (None, Role.ASCEND | Role.QUORUM)


def test_pipes_that_cannot_sum_leave_job_to_server() -> None:
    burning = in_pipes(0, 128, s1="it burns")
    assert (burning.assignments, burning.left_out) == ((), {"s1": "it burns"})
    assert burning.places == in_pipes(0, 128).places, "places do not depend on which switches are up"
    many = in_pipes(*range(40), *range(128, 170))
    assert many.left_out == {"s1": "it has 40 of the job's workers, and a bitmap holds 32"}
    assert len(set(many.places)) == 82
    beside = dataclasses.replace(CHIP, server_hosts=("w0",), at={**CHIP.at})
    assert in_pipes(0, 128, network=beside).left_out == {"s1": "w0 reaches the server on its own host without it"}


def test_server_in_a_rack() -> None:
    """The other racks are beside the upper switch, which only routes."""
    network = dataclasses.replace(TREE, upper="s2", at={**TREE.at, "server": "s2"})
    placement = placed(("w1", "w3"), network)
    assert roles(placement) == {"s1": Role.ASCEND, "s2": Role.UPPER}
    assert [(m.aggregate, m.host.port) for m in placement.assignments[1].members] == [(True, 5), (False, 1)]


def with_servers(network: Network, *hosts: str) -> Network:
    return dataclasses.replace(
        network, server_hosts=hosts, servers=tuple((f"10.19.0.{250 - n}", 19539) for n, _ in enumerate(hosts))
    )


def test_several_servers_behind_the_upper_switch_change_nothing() -> None:
    network = with_servers(dataclasses.replace(TREE, at={**TREE.at, "server2": "s0"}), "server", "server2")
    assert placed(ALL_WORKERS, network) == placed(ALL_WORKERS, TREE)


def test_servers_in_racks_leave_the_racks_to_themselves() -> None:
    """Packets of a rack to a server in another rack pass the upper switch, packets to its own server do not."""
    placement = placed(("w1", "w3"), with_servers(TREE, "server", "w4"))
    assert roles(placement) == {"s1": Role.ASCEND, "s2": Role.ASCEND}
    assert [one.uplinks for one in placement.assignments] == [(), ()]
    assert placement.left_out == {"s0": "some packets bypass it: the server at w4 is linked to another switch"}


@pytest.mark.parametrize("network", [STAR, TREE])
@pytest.mark.parametrize("quorum", [0, 3])
def test_worker_beside_server_leaves_all_switches_out(network: Network, quorum: int) -> None:
    placement = placed(ALL_WORKERS, with_servers(network, "w2", "w3"), quorum=quorum)
    assert placement.assignments == ()
    assert set(placement.left_out.values()) == {"w2 reaches the server on its own host without it"}
    assert placement.places == placed(ALL_WORKERS, network).places
    assert roles(placed(("w1", "w4"), with_servers(STAR, "w2", "w3"))) == {"s1": NO_ROLE}


def test_hosts_of_addresses_are_hosts_of_their_workers() -> None:
    network = Network.of(load("star4"), loopback=False)
    assert network.hosts_of(["10.19.0.3", "10.19.0.1"], busy=()) == ("w3", "w1")
    with pytest.raises(AdmissionError, match=r"No worker .* the address 10\.0\.0\.1\. Its workers: w1 10\.19\.0\.1,"):
        network.hosts_of(["10.0.0.1"], busy=())
    with pytest.raises(AdmissionError, match=r"Several workers of the job are at w1 \(10\.19\.0\.1\)"):
        network.hosts_of(["10.19.0.1", "10.19.0.1"], busy=())


def test_hosts_of_loopback_are_all_with_busy_last() -> None:
    network = Network.of(load("star4"), loopback=True)
    assert network.hosts_of(["127.0.0.1"] * 3, busy=("w1", "w2")) == ("w3", "w4", "w1")
    assert sorted(network.hosts_of(["127.0.0.1"] * 4, {"w1"})) == sorted(network.workers)
    with pytest.raises(AdmissionError, match="The job has 5 workers, the controller's topology 4"):
        network.hosts_of(["127.0.0.1"] * 5, ())


def test_workers_without_switch_are_summed_by_server() -> None:
    build = TopologyBuilder("direct", addresses="10.7.0.0/16")
    for number in range(33):
        build.worker(f"w{number}")
    build.server("server")
    build.controller("controller")
    network = Network.of(build.topology(), loopback=True)
    hosts = network.workers
    assert network.upper == NO_SWITCH
    assert network.address("w1") == "127.7.0.2"
    assert network.on_path(hosts) == {NO_SWITCH}
    few, many = placed(hosts[:32], network), placed(hosts, network, quorum=2)
    assert (few.places, many.places[-1]) == ((), (1, 0))
    assert few.assignments == many.assignments == ()
    assert few.left_out == many.left_out == {}, "there is no switch to leave out"


SPINES = Network.of(load("tree2x2x2"), loopback=False)


def spread(ranks: dict[str, int] | None = None, hosts: tuple[str, ...] = ALL_WORKERS, **more: Any) -> Placement:
    return placed(hosts, SPINES.avoiding(ranks or {}), **more)


def test_spines_sum_for_servers_behind_them() -> None:
    placement = spread()
    assert roles(placement) == {
        "s1": Role.ASCEND, "s2": Role.ASCEND, "spine1": Role.UPPER, "spine2": Role.UPPER,
    }  # fmt: skip
    assert placement.left_out == {}
    s1, _, spine1, spine2 = placement.assignments
    assert (s1.uplinks, s1.needs(looks_up=False)["descend"]) == ((5, 6), 2)
    assert [[host.port for host in member.hosts] for member in spine1.members] == [[1, 1], [2, 2]]
    assert spine1.members == spine2.members


def test_spine_that_is_left_sums_for_all_servers() -> None:
    placement = spread({"spine1": LOST}, unavailable={"spine1": "it burns"})
    assert roles(placement) == {"s1": Role.ASCEND, "s2": Role.ASCEND, "spine2": Role.UPPER}
    assert (placement.left_out, placement.assignments[0].uplinks) == ({}, (6,))
    assert placement.places == spread().places, "tickets stay"


def test_switch_of_a_server_replaces_a_full_spine() -> None:
    """The spine forwards, for example because its slots are used up."""
    placement = spread(unavailable={"spine1": "full"})
    assert roles(placement).keys() == {"s1", "s2", "s3", "spine2"}
    assert placement.left_out == {}
    placement = spread(unavailable={"spine1": "full", "s3": "full too"})
    assert roles(placement).keys() == {"s1", "s2", "spine2"}
    assert placement.left_out == {"spine1": "full", "s3": "full too"}


def test_spines_do_not_sum_incomplete_racks_or_quorums() -> None:
    assert roles(spread(unavailable={"s1": "it burns"})).keys() == {"s2"}
    assert roles(spread(quorum=3)) == dict.fromkeys(("s1", "s2"), Role.ASCEND | Role.QUORUM)
    assert spread(quorum=3).left_out["spine2"] == "with a quorum the server decides"


def test_one_rack_needs_no_spine() -> None:
    assert roles(spread(hosts=("w1", "w2"))) == {"s1": NO_ROLE}


def test_workers_beside_a_server_need_no_spine() -> None:
    """Packets of these workers pass no spine."""
    build = TopologyBuilder("beside")
    for spine in ("a", "b"):
        build.switch(spine)
    for rack in ("r1", "r2"):
        build.switch(rack)
        build.worker(f"w{rack}", at=rack)
        for spine in ("a", "b"):
            build.link(rack, spine)
    build.server("server", at="r2")
    build.controller("ctl", at="r1")
    placement = placed(("wr1", "wr2"), Network.of(build.topology(), loopback=False))
    assert roles(placement) == {"r1": Role.ASCEND, "r2": Role.UPPER}


def test_all_spines_are_on_a_jobs_path() -> None:
    """Packets keep their size and their tickets when they take another path."""
    assert SPINES.on_path(["w1"]) == {"s1", "s3", "s4", "spine1", "spine2"}
    assert SPINES.avoiding({"spine1": LOST}).on_path(["w1"]) == SPINES.on_path(["w1"])
    assert SPINES.ports("spine1") == {1, 2, 3, 4}
    assert SPINES.ports("s1") == {1, 2, 5, 6}
