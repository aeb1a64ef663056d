# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Paths through several spines: one for both directions of each pair of racks, and around those that are lost."""

from __future__ import annotations

import itertools
import random

import pytest

from lanesum_fabric.topology import Topology, TopologyBuilder, available, load
from lanesum_fabric.topology.files import TopologyError, parse
from lanesum_fabric.topology.spines import DRAINED, LOST

TWO = load("tree2x2x2")


def fabric(spines: int, racks: int, served: int, missing: set[tuple[int, int]] = set()) -> Topology:  # noqa: B006
    """Return a topology; ``missing``: (spine, rack) without a link."""
    build = TopologyBuilder("fabric", addresses="10.3.0.0/16")
    for spine in range(spines):
        build.switch(f"spine{spine}")
    for rack in range(racks):
        build.switch(f"r{rack}")
        build.worker(f"w{rack}", at=f"r{rack}")
        for spine in range(spines):
            if (spine, rack) not in missing:
                build.link(f"r{rack}", f"spine{spine}")
    for number in range(served):
        build.server(f"server{number}", at=f"r{racks - 1 - number}")
    build.controller("ctl", at="r0")
    return build.topology()


def passed(network: Topology, source: str, destination: str, ranks: dict[str, int]) -> list[str]:
    """Return the switches on a packet's path; each of them accepts the source at the port of arrival."""
    seen = {at: network.host_ports(at, loopback=False, ranks=ranks) for at in network.switches()}
    ends = {(one, port): (other, at) for one, port, other, at in network.links_between_switches()}
    ends |= {end: start for start, end in ends.items()}
    at, arrived = network.switch_of(source), network.ports()[source]
    path = [at]
    assert seen[at][source].port == arrived
    while not seen[at][destination].attached:
        at, arrived = ends[at, seen[at][destination].port]
        assert seen[at][source].port == arrived, f"{at} drops packets of {source} as spoofed"
        path.append(at)
    return path


@pytest.mark.parametrize("seed", range(20))
def test_switches_accept_all_packets_on_their_paths(seed: int) -> None:
    rng = random.Random(seed)
    spines, racks = rng.randint(2, 4), rng.randint(3, 5)
    missing = {(rng.randrange(1, spines), rng.randrange(racks))}  # the first spine has all links
    network = fabric(spines, racks, rng.randint(1, racks), missing)
    ranks = {spine: rng.choice((0, DRAINED, LOST)) for spine in network.spines}
    for source, destination in itertools.permutations(network.hosts(), 2):
        path = passed(network, source, destination, ranks)
        assert passed(network, destination, source, ranks) == path[::-1]
        if len(path) == 3:
            usable = network._spines().linking(path[0], path[2])
            assert ranks[path[1]] == min(ranks[spine] for spine in usable)


def test_racks_with_servers_use_different_spines() -> None:
    paths = {server: passed(TWO, "w1", server, {}) for server in TWO.server_hosts()}
    assert paths == {"server1": ["s1", "spine1", "s3"], "server2": ["s1", "spine2", "s4"]}
    assert passed(TWO, "w3", "server1", {}) == ["s2", "spine1", "s3"]


@pytest.mark.parametrize(
    ("ranks", "spine"),
    [
        ({"spine1": LOST}, "spine2"),
        ({"spine1": DRAINED}, "spine2"),
        ({"spine1": DRAINED, "spine2": LOST}, "spine1"),
        ({"spine1": LOST, "spine2": LOST}, "spine1"),
    ],
)
def test_paths_use_the_best_spine_that_is_left(ranks: dict[str, int], spine: str) -> None:
    assert passed(TWO, "w1", "server1", ranks) == ["s1", spine, "s3"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "links:\n",
            'links:\n  - endpoints: ["s1:9", "s2:9"]\n',
            "s1 and s2 are racks, which have hosts: with several paths, each link joins a spine and a rack",
        ),
        (
            "links:\n",
            'links:\n  - endpoints: ["spine1:9", "spine2:9"]\n',
            "spine1 and spine2 are spines",
        ),
        (
            '  - endpoints: ["s1:5", "spine1:1"]\n  - endpoints: ["s1:6", "spine2:1"]\n',
            '  - endpoints: ["s1:5", "spine1:1"]\n  - endpoints: ["s2:7", "spine1:9"]\n',
            "there is another path between s2 and spine1 already: no program aggregates links",
        ),
        ('"s1:1", "w1"', '"spine1:9", "w1"', "s1 and spine1 are racks"),
    ],
)
def test_errors_of_spines_name_the_switches(old: str, new: str, says: str) -> None:
    text = available()["tree2x2x2"].read_text()
    assert old in text
    with pytest.raises(TopologyError) as caught:
        parse(text.replace(old, new), "x.yaml")
    assert says in str(caught.value)


def test_racks_without_a_common_spine_are_refused() -> None:
    with pytest.raises(TopologyError, match="no spine is linked to both r1 and r2"):
        fabric(3, 4, 1, {(0, 1), (1, 2), (2, 1)})


def test_several_controllers_are_in_one_topology() -> None:
    assert TWO.names("controller") == ["ctl1", "ctl2"]
    assert TWO.controller == "ctl1"
