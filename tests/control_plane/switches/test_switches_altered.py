# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Entries that another client changes behind the controller, and the jobs whose sums they can have changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from lanesum.keep_alive import AlteredSwitchError, ending
from lanesum_control.controller.controller import AdmittedJob, JobRequest
from lanesum_control.errors import SwitchUnreachableError
from lanesum_control.switches.client import key_of
from lanesum_control.switches.switch import DELETE, INSERT, MODIFY, P4RuntimeSwitch
from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_fabric.program.switch_job import SwitchJob
from lanesum_fabric.protobufs import p4runtime_pb2
from lanesum_switch.dataplane import EmbeddedSwitch
from tests.control_plane.sites import HOSTS, Site, assert_exact, running

CODEC = "thc"  # with a table of codes in the switch
_MULTICAST, _LOOKUP, _MEMBER = (0, 0), (0, -1), (1, 0)  # step of ``job_entities``, and place in it
Change = Callable[[P4RuntimeSwitch, SwitchJob], list[tuple[int, p4runtime_pb2.Entity]]]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running(tmp_path_factory.mktemp("altered"), EmbeddedSwitch(), bmv2_pipeline(), "10.94.") as running_site:
        yield running_site


@pytest.fixture
def jobs(site: Site) -> Iterator[list[AdmittedJob]]:
    """Two jobs, the first with a code table."""
    site.controller.admit(JobRequest("first", HOSTS, codec=CODEC, slots=8))
    site.controller.admit(JobRequest("second", ("w4",), codec="fixed", slots=8))
    yield [site.controller.job(name) for name in ("first", "second")]
    for name in ("first", "second"):
        site.controller.remove(name)


def device_of(site: Site) -> Any:
    return site.controller.reconciler._switches["s1"].switch.device


def altered(site: Site, jobs: list[AdmittedJob]) -> list[str]:
    """Return the names of the jobs whose old tickets are void, by sums that may be wrong; the others must go on."""
    names = []
    for job in jobs:
        ticket = job.tickets[0]
        answer = site.controller.workers.state(ticket.job, ticket.tag, 0)
        found = ending(ticket, answer)
        if found is not None:
            assert isinstance(found[0], AlteredSwitchError)
            assert "another client changed its entries at switch s1; sums since 2" in str(found[0])
            names.append(job.request.name)
    return names


def entity(switch: P4RuntimeSwitch, job: SwitchJob, step: int, place: int) -> p4runtime_pb2.Entity:
    return switch.job_entities(job)[step][place]


def other_table(switch: P4RuntimeSwitch, job: SwitchJob) -> list[tuple[int, p4runtime_pb2.Entity]]:
    changed = dataclasses.replace(job, code_table=bytes(reversed(job.code_table or b"")))
    return [(MODIFY, entity(switch, changed, *_LOOKUP))]


def no_table(switch: P4RuntimeSwitch, job: SwitchJob) -> list[tuple[int, p4runtime_pb2.Entity]]:
    return [(DELETE, key_of(entity(switch, job, *_LOOKUP)))]


def foreign_member(switch: P4RuntimeSwitch, job: SwitchJob) -> list[tuple[int, p4runtime_pb2.Entity]]:
    changed = dataclasses.replace(job, members=(dataclasses.replace(job.members[0], udp_port=9),))
    return [(INSERT, entity(switch, changed, *_MEMBER))]


def other_worker(switch: P4RuntimeSwitch, job: SwitchJob) -> list[tuple[int, p4runtime_pb2.Entity]]:
    changed = dataclasses.replace(job, members=(dataclasses.replace(job.members[0], worker=1),))
    return [(MODIFY, entity(switch, changed, *_MEMBER))]


def no_member(switch: P4RuntimeSwitch, job: SwitchJob) -> list[tuple[int, p4runtime_pb2.Entity]]:
    return [(DELETE, key_of(entity(switch, job, *_MEMBER)))]


def other_group(switch: P4RuntimeSwitch, job: SwitchJob) -> list[tuple[int, p4runtime_pb2.Entity]]:
    changed = dataclasses.replace(job, members=job.members[:1])
    return [(MODIFY, entity(switch, changed, *_MULTICAST))]


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (other_table, ["first"]),
        (no_table, ["first"]),
        (foreign_member, ["first"]),
        (other_worker, ["first"]),
        (other_group, ["first"]),
        (no_member, []),
    ],
)
def test_audit_ends_jobs_whose_entries_were_changed(
    site: Site, jobs: list[AdmittedJob], change: Change, names: list[str]
) -> None:
    site.controller.reconciler.audit_switch("s1")
    assert altered(site, jobs) == []
    switch = device_of(site)
    switch.connection.write(change(switch, jobs[0].switch_jobs["s1"]))
    site.controller.reconciler.audit_switch("s1")
    assert altered(site, jobs) == names
    assert site.controller.reconciler._switches["s1"].agrees(site.controller.reconciler.plan.tables["s1"])


@pytest.mark.parametrize(("change", "names"), [(other_table, ["first"]), (foreign_member, ["first"]), (no_member, [])])
def test_return_of_switch_ends_jobs_changed_meanwhile(
    site: Site, jobs: list[AdmittedJob], change: Change, names: list[str]
) -> None:
    handle, switch = site.controller.reconciler._switches["s1"], device_of(site)
    site.controller.reconciler.audit_switch("s1")
    switch.connection.write(change(switch, jobs[0].switch_jobs["s1"]))
    with site.controller.reconciler.changing.held_for("s1"):
        handle.lost(SwitchUnreachableError("It was away."))
    site.controller.resize("second", 16)  # a difference of the controller's own
    site.controller.reconciler.check_switch("s1")
    assert handle.down is None
    assert altered(site, jobs) == names


def test_sums_by_foreign_table_are_wrong_until_audit(site: Site, jobs: list[AdmittedJob]) -> None:
    switch = device_of(site)
    switch.connection.write(other_table(switch, jobs[0].switch_jobs["s1"]))
    got, alone = site.reduce(jobs[0], CODEC)
    assert not np.array_equal(got[0], alone[0])
    site.controller.reconciler.audit_switch("s1")
    assert altered(site, jobs) == ["first"]
    again = site.controller.job("first")
    assert_exact(*site.reduce(again, CODEC))
