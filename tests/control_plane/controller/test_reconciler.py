# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Events of sums that move to the server and back, and the order of writes to the switches of a tree."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from lanesum_control.jobs.left_out import Cause, Reason
from tests.control_plane.control_fakes import Site, request


def test_sums_are_back_only_at_summing_switch() -> None:
    controller = Site("tree2x2").start()
    reconciler = controller.reconciler
    jobs: Any = {"a": SimpleNamespace(number=1)}

    def moved(summing: list[str], **left_out: str) -> list[str]:
        placement = SimpleNamespace(
            assignments=[SimpleNamespace(switch=one) for one in summing],
            left_out={at: Reason(Cause.FULL, why) for at, why in left_out.items()},
        )
        plan: Any = SimpleNamespace(placements={1: placement})
        reconciler.publish(jobs, plan)
        reconciler.note_moves()
        return [event.what for event in controller.events.latest() if event.whom == "a"]

    assert moved([], s0="it is full", s1="it is full") == []
    assert moved(["s1"]) == ["sums of s1 are back from the server"]


def test_jobs_join_upper_switch_last_leave_it_first() -> None:
    """Also where others grow: every range is cut at all switches before one grows."""
    site = Site("tree2x2", slots=64)
    controller = site.start()
    controller.admit(request("large", slots=64, quota=20))
    writes = writes_in_order(site)
    controller.admit(request("new", slots=30, quota=30))
    assert writes == [
        *(("modify", name) for name in ("s0", "s2", "s1")),
        *(("admit", name) for name in ("s1", "s2", "s0")),
    ]
    writes.clear()
    controller.remove("new")
    assert writes == [
        *(("remove", name) for name in ("s0", "s2", "s1")),
        *(("modify", name) for name in ("s1", "s2", "s0")),
    ]


def writes_in_order(site: Site) -> list[tuple[str, str]]:
    """Return a list of (operation, switch) that grows with every write."""
    writes: list[tuple[str, str]] = []

    class Log(list[str]):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def append(self, what: str) -> None:
            writes.append((what.split()[0], self.name))

    for name, switch in site.switches.items():
        switch.log = Log(name)
    return writes
