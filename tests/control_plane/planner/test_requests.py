# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packet sizes of jobs by their paths, and over restarts of the controller."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, FULL_ACCUMULATOR_WORDS
from lanesum.transport.path_check import result_bytes
from lanesum_control.errors import AdmissionError
from lanesum_control.jobs.records import JobRequest
from lanesum_control.planner.network import Network
from lanesum_control.planner.requests import PacketSizes
from lanesum_control.state.store import Store
from lanesum_fabric.topology import TopologyBuilder
from tests.control_plane.control_fakes import Site, what

RACK = JobRequest("rack", ("w3", "w4"))  # at s2 of tree2x2; the server is at s0


def direct(workers: int) -> Network:
    build = TopologyBuilder("direct", addresses="10.7.0.0/16")
    for number in range(workers):
        build.worker(f"w{number}")
    build.server("server")
    build.controller("controller")
    return Network.of(build.topology(), loopback=False)


@pytest.mark.parametrize(
    ("path_mtu", "words"),
    [(None, 360), (1500, 360), (1499, 352), (1420, 336), (576, 128), (9000, 2232), (65535, 2232), (92, 8)],
)
def test_words_without_switch_fill_path_mtu(path_mtu: int | None, words: int) -> None:
    sizes = PacketSizes(direct(2), (), None)
    assert sizes.sized(JobRequest("a", ("w0", "w1")), path_mtu).words == words
    assert path_mtu is None or 28 + 32 + 4 * words <= path_mtu


def test_quorum_of_racks_leaves_room_for_bitmaps() -> None:
    network = direct(33)
    request = PacketSizes(network, (), None).sized(JobRequest("a", network.workers, quorum=30), None)
    assert request.words == FULL_ACCUMULATOR_WORDS - 32
    site = Site()
    site.network = network
    site.switches = {}
    (first, *_) = site.start().admit(JobRequest("a", network.workers, quorum=30)).tickets
    assert result_bytes(first) + 28 <= 1500


def test_path_mtu_below_any_packet_is_refused() -> None:
    with pytest.raises(AdmissionError, match="packets do not fit a path MTU of 91 bytes"):
        PacketSizes(direct(2), (), None).sized(JobRequest("a", ("w0",)), 91)


def test_size_is_that_of_switches_on_path() -> None:
    site = Site("tree2x2", controlled=["s1"])
    controller = site.start()
    beside = controller.admit(RACK, path_mtu=9000)
    behind = controller.admit(JobRequest("behind", ("w1", "w2")), path_mtu=9000)
    assert (beside.tickets[0].accumulator_words, beside.tickets[0].slots) == (2232, 512)
    assert (behind.tickets[0].accumulator_words, behind.tickets[0].slots) == (DEFAULT_ACCUMULATOR_WORDS, 64)
    assert all(op.shape.fills(2232) for op in beside.tickets[0].ops)


def test_words_that_switches_lack_are_refused() -> None:
    controller = Site("tree2x2", controlled=["s1"]).start()
    with pytest.raises(AdmissionError, match="packets of 360 words, and its path has packets of 64"):
        controller.admit(JobRequest("a", ("w1", "w2"), words=360))
    assert controller.admit(JobRequest("a", ("w1", "w2"), words=64)).tickets[0].accumulator_words == 64
    with pytest.raises(AdmissionError, match="words = 1 is not between 2 and"):
        controller.admit(dataclasses.replace(RACK, words=1))
    assert controller.admit(dataclasses.replace(RACK, words=200)).tickets[0].accumulator_words == 200


def test_job_that_comes_behind_switch_changes_size() -> None:
    controller = Site("tree2x2", controlled=["s1"]).start()
    before = controller.admit(dataclasses.replace(RACK, slots=32)).tickets[0]
    after = controller.extend("rack", "w1").tickets[0]
    assert (before.accumulator_words, after.accumulator_words) == (360, DEFAULT_ACCUMULATOR_WORDS)
    left = controller.leave("rack", "w1").tickets[0]
    assert left.accumulator_words == DEFAULT_ACCUMULATOR_WORDS, "a size that any path carries is kept"


def test_lost_switch_keeps_size_of_job() -> None:
    site = Site()
    controller = site.start()
    before = controller.admit(JobRequest("a", ("w1", "w2"))).tickets[0]
    site.switches["s1"].away = True
    controller.reconciler.check_switch("s1")
    assert controller.job("a").moved
    assert controller.job("a").tickets[0] == before


def test_size_of_stored_job_survives_restart(tmp_path: Path) -> None:
    network, found = direct(2), []
    for _ in range(2):
        site = Site()
        site.network, site.switches = network, {}
        with Store(tmp_path / "state.db") as store:
            controller = site.start(store=store)
            if not found:
                controller.admit(JobRequest("a", ("w0", "w1")), path_mtu=9000)
            found.append(controller.job("a").tickets[0])
            assert len(what(controller, "a")) == 1
    assert found[0] == found[1]
    assert found[0].accumulator_words == 2232
