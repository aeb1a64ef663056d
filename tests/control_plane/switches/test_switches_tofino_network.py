# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sessions of workers through the Tofino program: sockets, controller and server around the embedded switch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lanesum import codecs
from lanesum.protocol import LaneOp
from lanesum_control.controller.controller import JobRequest
from lanesum_fabric.program.pipelines import tofino_pipeline
from lanesum_switch.tna.switch import TofinoSwitch
from tests.control_plane.sites import HOSTS, SIZE, Site, assert_exact, running


@pytest.fixture(scope="module", params=["tofino1-w32", "tofino2-w256"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running(
        tmp_path_factory.mktemp("tofino"), TofinoSwitch(), tofino_pipeline(request.param), "10.93."
    ) as running_site:
        yield running_site


@pytest.mark.parametrize(
    ("codec", "op"),
    [
        (codecs.get("thc-uniform", workers=len(HOSTS)), LaneOp.EXPAND8),
        ("thc", LaneOp.EXPAND8),
        (codecs.THC(workers=len(HOSTS), bits=4, lanes=16), LaneOp.EXPAND16),
        (codecs.THC(workers=len(HOSTS), bits=8), LaneOp.EXPAND8TO16),
        (codecs.get("fixed", workers=len(HOSTS)), LaneOp.ADD32),
    ],
    ids=lambda what: what.name if isinstance(what, LaneOp) else "",
)
def test_sums_of_chip_program_match_codec(site: Site, codec: codecs.Codec | str, op: LaneOp) -> None:
    before = site.controller.counters()
    name = codec if isinstance(codec, str) else None
    job = site.controller.admit(JobRequest(op.name.lower(), HOSTS, slots=8, codec=name))
    assert op in job.switch_jobs["s1"].ops
    got, alone = site.reduce(job, codec)
    assert_exact(got, alone)
    after = site.controller.counters()
    summed = after["switches"]["s1"]["contribute_and_complete"] - before["switches"]["s1"]["contribute_and_complete"]
    values = op.shape.uplink_words(site.words) * 32 // op.shape.code_bits
    assert summed >= 2 * (SIZE // values)
    site.controller.remove(job.request.name)


def test_sums_of_workers_at_several_pipes_match_codec(tmp_path: Path) -> None:
    """One worker in pipe 0, with the server; two in pipe 1, which combines."""
    with running(tmp_path, TofinoSwitch(), tofino_pipeline("tofino1-w32"), "10.96.", {2: 129, 3: 130}) as site:
        job = site.controller.admit(JobRequest("apart", HOSTS, slots=8))
        assert (job.switch_jobs["s1"].combining_pipe, job.left_out) == (1, {})
        got, alone = site.reduce(job, codecs.get("fixed", workers=len(HOSTS)))
        assert_exact(got, alone)
        decided = site.controller.counters()["switches"]["s1"]
        chunks = 2 * -(-SIZE // site.words)
        assert decided["claim_and_complete"] >= chunks, "partial sums of one worker"
        assert decided["contribute_and_complete"] >= chunks


def test_missing_operations_are_summed_by_the_server(site: Site) -> None:
    """Lookups only: the switch sums the other operations of the same job."""
    codec = codecs.get("thc-paper", workers=len(HOSTS))
    before = site.controller.counters()
    job = site.controller.admit(JobRequest("paper", HOSTS, slots=8, codec="thc-paper"))
    assert any(op.shape.lookup for op in job.tickets[0].ops)
    assert not any(op.shape.lookup for op in job.switch_jobs["s1"].ops)
    got, alone = site.reduce(job, codec)
    assert_exact(got, alone)
    after = site.controller.counters()
    passed = after["switches"]["s1"]["route_other_size"] - before["switches"]["s1"].get("route_other_size", 0)
    assert passed >= len(HOSTS) * 2 * (SIZE // (4 * site.words))
    site.controller.remove("paper")
