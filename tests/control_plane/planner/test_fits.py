# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Plans by what differs from an earlier plan: they equal plans from the beginning."""

from __future__ import annotations

import contextlib
import random
from dataclasses import replace

import pytest

from lanesum.errors import LanesumError
from lanesum_control.controller.controller import Controller
from lanesum_control.planner.planning import Plan
from tests.control_plane.control_fakes import Site, request


def from_beginning(controller: Controller) -> Plan:
    """Return the plan of the present jobs and ranges, made without an earlier plan."""
    reconciler = controller.reconciler
    present = reconciler.plan
    reconciler.plan = replace(present, fits=None)
    try:
        return reconciler.planned(reconciler.jobs)
    finally:
        reconciler.plan = present


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("topology", "slots"), [("tree4x4", 1000), ("tree2x2x2", 60)])
def test_plan_by_differences_equals_plan_from_beginning(topology: str, slots: int, seed: int) -> None:
    rng = random.Random(seed)
    site = Site(topology, slots=slots)
    controller = site.start()
    hosts = site.network.workers
    names: list[str] = []
    by_differences = 0
    for step in range(40):
        with contextlib.suppress(LanesumError):  # a quota that cannot be met
            if names and rng.random() < 0.35:
                controller.remove(names.pop(rng.randrange(len(names))))
            elif names and rng.random() < 0.2:
                controller.resize(rng.choice(names), rng.randrange(1, 30))
            else:
                workers = tuple(rng.sample(hosts, rng.randrange(1, len(hosts) + 1)))
                options = {"slots": rng.randrange(1, 30), "best_effort": rng.random() < 0.2}
                controller.admit(replace(request(f"j{step}", **options), workers=workers))
                names.append(f"j{step}")
        by_differences += controller.reconciler.plan.fits is not None
        expected, reconciler = from_beginning(controller), controller.reconciler
        assert reconciler.planned(reconciler.jobs) == expected
        assert reconciler.plan.tables == expected.tables
    assert by_differences > 5
    controller.close()


def test_jobs_left_out_for_others_are_planned_again() -> None:
    """The job that was left out gets its place once another job has ended."""
    site = Site(slots=60)
    controller = site.start()
    controller.admit(request("a", slots=60))
    assert controller.reconciler.plan.fits is not None
    controller.admit(request("b", slots=40, best_effort=True))
    assert controller.reconciler.plan.fits is None and controller.job("b").switch_jobs == {}
    controller.remove("a")
    assert set(controller.job("b").switch_jobs) == {"s1"}
    assert controller.reconciler.plan.fits is not None
    controller.close()
