# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Admission: what a job is given, what is refused, and the service in front of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lanesum import codecs, rpc
from lanesum.errors import ConfigurationError
from lanesum.join import join
from lanesum.protocol import LaneOp
from lanesum_control.controller import Controller, JobRequest
from lanesum_control.errors import AdmissionError, ControlError, SwitchWriteError, UnknownJobError
from lanesum_control.model import HostPort, SwitchJob
from lanesum_control.service import ControllerService
from lanesum_control.topology import load

SERVER = ("10.19.0.100", 19539)


class RecordingSwitch:
    """Remembers what it was told; refuses on request."""

    slots = 100

    def __init__(self) -> None:
        self.hosts: list[HostPort] = []
        self.jobs: dict[int, SwitchJob] = {}
        self.refuse = False

    def add_host(self, host: HostPort) -> None:
        self.hosts.append(host)

    def admit(self, job: SwitchJob) -> None:
        if self.refuse:
            raise SwitchWriteError("no")
        self.jobs[job.job] = job

    def remove(self, job: SwitchJob) -> None:
        del self.jobs[job.job]

    def set_fault(self, port: int, *, ingress: bool, share: float) -> None:
        raise NotImplementedError

    def decisions(self) -> dict[str, int]:
        return {"claim": 3}


@pytest.fixture
def switch() -> RecordingSwitch:
    return RecordingSwitch()


@pytest.fixture
def controller(switch: RecordingSwitch) -> Controller:
    return Controller(switch, load("star4").host_ports(loopback=False), SERVER)


def request(name: str = "a", workers: int = 4, **fields: Any) -> JobRequest:
    return JobRequest(name, tuple(f"w{i + 1}" for i in range(workers)), **{"slots": 40, **fields})


def test_a_job_gets_slots_group_tag_table_and_tickets(controller: Controller, switch: RecordingSwitch) -> None:
    admitted = controller.admit(request(seed=9))
    job = switch.jobs[admitted.switch_job.job]
    assert (job.slot_base, job.slot_count, job.group, job.fan_in) == (0, 40, 1, 4)
    assert job.code_table == codecs.get("thc", workers=4).code_table.tobytes()  # type: ignore[union-attr]
    assert job.code_table_word & 0xFF == job.code_table[0]
    assert job.code_table_word >> 120 == job.code_table[15]
    assert [ticket.worker for ticket in admitted.tickets] == [0, 1, 2, 3]
    assert {ticket.tag for ticket in admitted.tickets} == {job.tag}
    assert admitted.tickets[2].local == ("10.19.0.3", 19539)
    assert admitted.tickets[2].server == SERVER
    assert {ticket.seed for ticket in admitted.tickets} == {9}
    assert len({ticket.epoch for ticket in admitted.tickets}) == 1
    assert len(switch.hosts) == 6


def test_slot_ranges_never_overlap_and_are_given_again(controller: Controller, switch: RecordingSwitch) -> None:
    controller.admit(request("a"))
    b = controller.admit(request("b")).switch_job
    assert (b.slot_base, b.group) == (40, 2)
    with pytest.raises(AdmissionError, match=r"No 40 slots in a row are free: 80 of 100"):
        controller.admit(request("c"))
    c = controller.admit(request("c", slots=20)).switch_job
    assert c.slot_base == 80
    controller.remove("a")
    d = controller.admit(request("d", slots=30)).switch_job
    assert (d.slot_base, d.group) == (0, 1)
    assert d.job not in {b.job, c.job}
    taken = sorted((job.slot_base, job.slot_base + job.slot_count) for job in switch.jobs.values())
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(taken))


def test_a_new_incarnation_has_a_new_tag(controller: Controller) -> None:
    first = controller.admit(request()).switch_job
    controller.remove("a")
    assert controller.admit(request()).switch_job.tag != first.tag


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (request(workers=0), "asks for 0 workers"),
        (replace(request(), workers=("w1", "w1")), "names a host twice"),
        (replace(request(), workers=("w1", "x9")), "unknown hosts: x9"),
        (request(slots=0), "asks for 0 slots; the switch has 100"),
        (request(slots=101), "asks for 101 slots"),
    ],
)
def test_refusals(controller: Controller, switch: RecordingSwitch, bad: JobRequest, says: str) -> None:
    with pytest.raises(AdmissionError, match=says):
        controller.admit(bad)
    assert not switch.jobs


def test_name_taken_unknown_codec_and_unknown_job(controller: Controller) -> None:
    controller.admit(request(slots=10))
    with pytest.raises(AdmissionError, match="admitted already"):
        controller.admit(request(slots=10))
    with pytest.raises(ConfigurationError, match="no codec 'zip'"):
        controller.admit(request("b", slots=10, codec="zip"))
    with pytest.raises(UnknownJobError, match="No job 'zzz' is admitted; there is a"):
        controller.remove("zzz")


def test_a_switch_that_refuses_leaves_no_job(controller: Controller, switch: RecordingSwitch) -> None:
    switch.refuse = True
    with pytest.raises(ControlError):
        controller.admit(request())
    switch.refuse = False
    assert controller.admit(request()).switch_job.slot_base == 0


@pytest.fixture
def service(controller: Controller) -> Iterator[ControllerService]:
    with ControllerService(controller, "127.0.0.1:0") as running:
        yield running


def test_the_service_admits_joins_lists_and_removes(
    service: ControllerService, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"127.0.0.1:{service.port}"
    message = {"name": "a", "workers": ["w1", "w2"], "slots": 8, "codec": "fixed", "ops": ["ADD32", "MAX"]}
    admitted = rpc.call(address, rpc.ADMIT, message)
    assert admitted["workers"] == ["w1", "w2"]
    ticket = join(controller=address, job="a", worker=1)
    assert (ticket.worker, ticket.workers, ticket.job) == (1, 2, admitted["job"])
    assert ticket.ops == (LaneOp.ADD32, LaneOp.MAX)
    for name, value in {"LANESUM_CONTROLLER": address, "LANESUM_JOB": "a", "RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    assert join().worker == 0
    assert [job["name"] for job in rpc.call(address, rpc.JOBS, {})["jobs"]] == ["a"]
    assert rpc.call(address, rpc.COUNTERS, {})["packets"] == {"claim": 3}
    rpc.call(address, rpc.REMOVE, {"job": "a"})
    assert rpc.call(address, rpc.JOBS, {})["jobs"] == []


def test_the_service_says_what_is_wrong(service: ControllerService) -> None:
    address = f"127.0.0.1:{service.port}"
    with pytest.raises(rpc.ControllerError, match="No job 'a' is admitted"):
        join(controller=address, job="a", worker=0)
    rpc.call(address, rpc.ADMIT, {"name": "a", "workers": ["w1"], "slots": 8})
    with pytest.raises(rpc.ControllerError, match="'x' is no worker number"):
        rpc.call(address, rpc.JOIN, {"job": "a", "worker": "x"})
    with pytest.raises(rpc.ControllerError, match="has no worker 1; it has 1"):
        join(controller=address, job="a", worker=1)
    with pytest.raises(rpc.ControllerError, match="Not a job request"):
        rpc.call(address, rpc.ADMIT, {"name": "b", "colour": "red"})


def test_ports_taken_and_controllers_that_are_not_there(
    service: ControllerService, controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigurationError, match="cannot listen"):
        ControllerService(controller, f"127.0.0.1:{service.port}")
    with pytest.raises(rpc.UnreachableError, match="No controller answers"):
        rpc.call("127.0.0.1:1", rpc.JOBS, {}, timeout_s=0.3)
    for name in ("LANESUM_CONTROLLER", "LANESUM_JOB", "RANK", "LANESUM_TICKET"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigurationError, match="LANESUM_CONTROLLER, LANESUM_JOB, RANK must be set"):
        join()
    monkeypatch.setenv("LANESUM_TICKET", "/nonexistent")
    with pytest.raises(ConfigurationError, match="There is no ticket /nonexistent"):
        join()


def test_a_second_join_is_a_new_incarnation(controller: Controller, switch: RecordingSwitch) -> None:
    """Two sessions must never share a tag: the switch could answer the second one with results of the first."""
    first = controller.admit(request()).switch_job
    tags = {controller.join("a", worker).tag for worker in range(4)}
    assert tags == {first.tag}
    again = controller.join("a", 2)
    assert again.tag != first.tag
    (job,) = switch.jobs.values()
    assert (job.tag, job.slot_base, job.job) == (again.tag, first.slot_base, first.job)
    assert {controller.join("a", worker).tag for worker in (0, 1, 3)} == {again.tag}
    assert again.seed != controller.join("a", 0).seed


def test_a_ticket_file_is_good_for_one_session(
    controller: Controller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller.admit(request())
    file = tmp_path / "ticket.json"
    file.write_text(controller.join("a", 1).to_json())
    monkeypatch.setenv("LANESUM_TICKET", str(file))
    assert join().worker == 1
    with pytest.raises(ConfigurationError, match="was used already"):
        join()
