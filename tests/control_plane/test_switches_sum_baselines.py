# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Gathered codes, factors and latents are summed by the BMv2 program in the embedded switch."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from lanesum import codecs
from lanesum.protocol import LaneOp
from lanesum_control.controller.controller import JobRequest
from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_switch.dataplane import EmbeddedSwitch
from tests.control_plane.sites import HOSTS, SIZE, Site, running

# Dense, training, and two compressed ones.
LEARNED: dict[str, Any] = {"density": 0.05, "warm_up": 1, "training": 1, "passes": 2, "guard": 1.0}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running(tmp_path_factory.mktemp("bmv2"), EmbeddedSwitch(), bmv2_pipeline(), "10.94.") as running_site:
        yield running_site


def summed_by_switch(site: Site, name: str, options: dict[str, Any], rounds: int) -> tuple[list[np.ndarray], int]:
    """Return the means, those of the codec alone, and the number of sums of the switch; no packet bypasses it."""
    build = functools.partial(codecs.get, name, workers=len(HOSTS), **options)
    before = site.controller.counters()
    job = site.controller.admit(JobRequest(name, HOSTS, slots=8))
    assert LaneOp.ADD32 in job.switch_jobs["s1"].ops
    got, alone = site.reduce(job, build, rounds)
    assert [mean.tobytes() for mean in got] == [mean.tobytes() for mean in alone]
    after = site.controller.counters()
    site.controller.remove(name)
    one, other = (counters["switches"]["s1"] for counters in (after, before))
    return got, one["contribute_and_complete"] - other.get("contribute_and_complete", 0)


@pytest.mark.parametrize("name", ["eden", "powersgd", "lgc", "lgc-server"])
def test_gathered_messages_go_through_the_switch(site: Site, name: str) -> None:
    if name.startswith("lgc") and importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed.")
    options = LEARNED if name.startswith("lgc") else {}
    rounds = 4 if options is LEARNED else 2
    _, completed = summed_by_switch(site, name, options, rounds)
    size = codecs.get(name, workers=len(HOSTS), **options).shapes(SIZE)
    assert completed >= sum(-(-shape.words // site.words) for shape in size)
