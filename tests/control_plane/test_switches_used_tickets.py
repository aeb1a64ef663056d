# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tickets that an earlier process has used, in a job whose sums the registers of a switch still hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from lanesum.transport import JobTicket, opening
from lanesum.transport.errors import UsedTicketError
from lanesum.transport.opening import Opening
from lanesum_control.controller.controller import JobRequest
from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_switch.dataplane import EmbeddedSwitch
from tests.control_plane.sites import HOSTS, Site, running
from tests.host.session.test_session_used_tickets import assert_exact, run

SLOTS = 8


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running(tmp_path_factory.mktemp("used"), EmbeddedSwitch(), bmv2_pipeline(), "10.93.") as running_site:
        yield running_site


def joined(site: Site, name: str) -> list[JobTicket]:
    return [site.controller.join(name, worker) for worker in range(len(HOSTS))]


def sums_of_switch(site: Site) -> int:
    return site.controller.counters()["switches"]["s1"].get("contribute_and_complete", 0)


def assert_summed_by_switch(site: Site, tickets: list[JobTicket], life: int) -> None:
    before = sums_of_switch(site)
    outcomes: list[Any] = run(tickets, life, 3)
    for outcome in outcomes:
        assert_exact(outcome, life, len(HOSTS))
        assert np.array_equal(outcome, outcomes[0])
    assert sums_of_switch(site) > before


def test_used_tickets_are_refused_new_ones_are_exact(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.controller.admit(JobRequest("used", HOSTS, slots=SLOTS))
    tickets = joined(site, "used")
    assert_summed_by_switch(site, tickets, 1)
    monkeypatch.setattr(opening, "_used", set())
    assert [type(outcome) for outcome in run(tickets, 2, 3)] == [UsedTicketError] * len(HOSTS)
    assert_summed_by_switch(site, joined(site, "used"), 3)
    site.controller.remove("used")


def test_sums_in_the_switch_reach_no_later_session(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server has lost its entries, so it opens a second session under the tag; the switch has those of the first.

    In the third session they are newer than all packets, so the switch drops these, and the server sums what bypasses.
    """
    site.controller.admit(JobRequest("kept", HOSTS, slots=SLOTS))
    tickets = joined(site, "kept")
    served = site.server.aggregator.jobs[tickets[0].job]
    opened = Opening.first_epoch
    for life, distance in enumerate((1 << 20, 1 << 21, 1)):
        monkeypatch.setattr(opening, "_used", set())
        epoch = (tickets[0].epoch + distance) % (1 << 32)
        monkeypatch.setattr(Opening, "first_epoch", lambda self, result, at=epoch: opened(self, result) and at)
        for outcome in run(tickets, life, 3):
            assert_exact(outcome, life, len(HOSTS))
        with site.server.lock:
            site.server.aggregator.remove(served.job)
            site.server.aggregator.admit(served)
    site.controller.remove("kept")
