# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The controller over gRPC: join, readiness, keep-alive, leave, and the command line."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import json
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lanesum import joining
from lanesum.errors import ConfigurationError
from lanesum.joining import (
    DescriptionMismatchError,
    NotReadyError,
    join,
    take_ticket,
)
from lanesum.keep_alive import KeepAlive, SupersededError
from lanesum.protocol import LaneOp
from lanesum.protocol.spec import VERSION
from lanesum.rpc import controller as rpc
from lanesum.server import ServerJob
from lanesum.transport import JobTicket
from lanesum_control.controller import messages
from lanesum_control.controller.controller import Controller
from lanesum_control.controller.options import ControllerOptions
from lanesum_control.controller.process import _check_free
from lanesum_control.controller.service import ControllerService
from tests.command_line import invoke
from tests.control_plane.control_fakes import Site, request
from tests.waiting import with_longer_deadlines


@pytest.fixture
def site() -> Site:
    return Site("tree2x2")


@pytest.fixture
def job(address: str) -> str:
    """A job of two workers in two racks."""
    rpc.call(address, rpc.ADMIT, {"name": "a", "workers": ["w1", "w3"], "slots": 8})
    return "a"


def in_thread(work: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    """Start ``work``; append its result or exception to the list."""
    outcome: list[object] = []

    def run() -> None:
        try:
            outcome.append(work())
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcome


def listed(address: str) -> dict[str, Any]:
    """Return the only job as the service lists it."""
    (job,) = rpc.call(address, rpc.JOBS, {})["jobs"]
    assert isinstance(job, dict)
    return job


def incarnation(address: str) -> str:
    """Return the identifier of the only job's incarnation."""
    (job,) = rpc.call(address, rpc.LIVE, {})["jobs"]
    return str(job["incarnation"])


def test_admit_join_list_and_remove(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    message = {"name": "a", "workers": ["w1", "w2"], "slots": 8, "codec": "fixed", "ops": ["ADD32", "MAX"]}
    admitted = rpc.call(address, rpc.ADMIT, message)
    assert admitted["workers"] == ["w1", "w2"]
    assert admitted["placement"] == {
        "s1": {"role": "", "slot_base": 0, "slots": 8, "shared": False, "group": 1, "combining_pipe": None}
    }
    ticket = join(controller=address, job="a", worker=1)
    assert (ticket.worker, ticket.workers, ticket.job) == (1, 2, admitted["job"])
    assert ticket.ops == (LaneOp.ADD32, LaneOp.MAX)
    for name, value in {"LANESUM_CONTROLLER": address, "LANESUM_JOB": "a", "RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    assert join().worker == 0
    assert (listed(address)["name"], listed(address)["joined"]) == ("a", ["w1", "w2"])
    assert rpc.call(address, rpc.COUNTERS, {})["packets"] == {"claim": 9}
    rpc.call(address, rpc.REMOVE, {"job": "a"})
    assert rpc.call(address, rpc.JOBS, {})["jobs"] == []
    said = [(event["whom"], event["what"]) for event in rpc.call(address, rpc.EVENTS, {})["events"]]
    assert said[-4] == ("a", "admitted as job 1") and said[-1] == ("a", "removed")
    last = rpc.call(address, rpc.EVENTS, {})["events"][-1]["number"]
    assert rpc.call(address, rpc.EVENTS, {"since": last})["events"] == []


def test_service_refusal_names_the_reason(address: str) -> None:
    with pytest.raises(rpc.ControllerError, match="No job 'a' is admitted"):
        join(controller=address, job="a", worker=0)
    rpc.call(address, rpc.ADMIT, {"name": "a", "workers": ["w1"], "slots": 8})
    with pytest.raises(rpc.ControllerError, match="Host x has no part in job 'a'"):
        rpc.call(address, rpc.JOIN, {"job": "a", "worker": "x"})
    with pytest.raises(rpc.ControllerError, match=r"1\.5 is no worker number, and no host"):
        rpc.call(address, rpc.JOIN, {"job": "a", "worker": 1.5})
    for name in ("claimant", "description"):
        with pytest.raises(rpc.ControllerError, match=rf"{name} = 'x\\x00y' has a NUL character"):
            rpc.call(address, rpc.JOIN, {"job": "a", "worker": 0, name: "x\0y"})
    with pytest.raises(rpc.ControllerError, match="has no worker 1; it has 1"):
        join(controller=address, job="a", worker=1)
    for name in ("a\0", "a\x1b[2J"):
        with pytest.raises(rpc.ControllerError, match=r"Job name .* has characters that cannot be printed"):
            rpc.call(address, rpc.ADMIT, {"name": name, "workers": ["w1"], "slots": 8})
    for fields, said in (
        ({"name": "n" * 129}, "The name of job 'n{128}' has 129 characters, more than 128"),
        ({"name": "n", "codec": "c" * 4097}, "The codec of job 'n' has 4097 characters, more than 4096"),
    ):
        with pytest.raises(rpc.ControllerError, match=said):
            rpc.call(address, rpc.ADMIT, {"workers": ["w1"], "slots": 8, **fields})
    with pytest.raises(rpc.ControllerError, match="Not a job request"):
        rpc.call(address, rpc.ADMIT, {"name": "b", "colour": "red"})
    with pytest.raises(rpc.ControllerError, match="Not a job request: slots: Input should be a valid integer"):
        rpc.call(address, rpc.ADMIT, {"name": "b", "workers": ["w1"], "slots": "many"})
    with pytest.raises(rpc.ControllerError, match="tag = None is no number"):
        rpc.call(address, rpc.READY, {"job": 1})
    ticket = {"job": 1, "tag": 1, "worker": 0}
    for method, message, said in (
        (rpc.KEEPALIVE, {**ticket, "description": "x" * 100_000}, "description has 100000 characters, more than "),
        (rpc.KEEPALIVE, {**ticket, "about": [0.5]}, r"about = \[0\.5\] is no list of at most \d+ workers"),
        (rpc.RENEW, {"job": "a"}, "job = 'a' is no number"),
        (rpc.ADMIT, {"name": "b", "path_mtu": "9000"}, "path_mtu = '9000' is no number of bytes"),
        (rpc.EVENTS, {"since_s": "noon"}, "since_s = 'noon' is no time in seconds"),
        (rpc.EVENTS, {"since": 1 << 63}, "since = 9223372036854775808 is no number of an event"),
    ):
        with pytest.raises(rpc.ControllerError, match=said):
            rpc.call(address, method, message)


def test_call_of_busy_controller_says_it_was_reached(site: Site, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, admit = threading.Event(), site.server.admit

    def slow(job: ServerJob) -> None:
        assert go_on.wait(250)
        admit(job)

    monkeypatch.setattr(site.server, "admit", slow)
    message = {"name": "a", "workers": ["w1"], "slots": 8}

    def attempt(deadline_s: float) -> None:
        with pytest.raises(rpc.UnreachableError, match=r"was reached, but Admit got no answer.*lanesum job list"):
            rpc.call(address, rpc.ADMIT, message, 2 * deadline_s, connect_s=1.9 * deadline_s)

    with_longer_deadlines(attempt)
    assert rpc.call(address, rpc.JOBS, {})["jobs"] == []
    go_on.set()
    while not rpc.call(address, rpc.JOBS, {})["jobs"]:  # the test's time limit ends it
        time.sleep(0.01)


def test_controller_at_a_taken_address_touches_no_server(address: str) -> None:
    """It once removed the jobs of the first controller there, and then found the address in use."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        at = f"127.0.0.1:{server.getsockname()[1]}"
        result = invoke(["controller", "--loopback", "--server", at, "--listen", address])
        assert result.exit_code == 2 and f"The controller cannot listen at {address}." in result.output
        with pytest.raises(BlockingIOError):
            server.accept()


def test_address_that_tcp_connects_to_itself_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        monkeypatch.setattr(socket, "create_connection", lambda address, timeout: own.connect(address) or own)
        _check_free(f"127.0.0.1:{own.getsockname()[1]}")
        assert own.fileno() == -1, "it was connected"


def test_ports_taken_and_controllers_that_are_not_there(
    address: str, controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigurationError, match="cannot listen"):
        ControllerService(controller, address)
    with pytest.raises(rpc.UnreachableError, match="No controller answers"):
        rpc.call("127.0.0.1:1", rpc.JOBS, {}, timeout_s=0.3)
    for name in ("LANESUM_CONTROLLER", "LANESUM_JOB", "RANK", "LANESUM_TICKET"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigurationError, match="LANESUM_CONTROLLER, LANESUM_JOB, RANK must be set"):
        join()
    monkeypatch.setenv("RANK", "two")
    with pytest.raises(ConfigurationError, match="RANK = 'two' is no worker number"):
        join(controller="127.0.0.1:1", job="train")
    monkeypatch.setenv("LANESUM_TICKET", "/nonexistent")
    with pytest.raises(ConfigurationError, match="There is no ticket /nonexistent"):
        join()


def test_ticket_file_is_good_for_one_session(
    address: str, job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ticket.json"
    result = invoke(["job", "ticket", job, "--worker", "w3", "--controller", address, "--out", str(file)])
    assert result.exit_code == 0, result.output
    monkeypatch.setenv("LANESUM_TICKET", str(file))
    assert join().worker == 1
    with pytest.raises(ConfigurationError, match="was used already, and a ticket is for one session"):
        take_ticket(file)
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigurationError, match=f"Cannot read the ticket {tmp_path}/folder: Is a directory"):
        take_ticket(tmp_path / "folder")


def test_workers_wait_for_each_other(address: str, job: str) -> None:
    first, outcome = in_thread(lambda: join(controller=address, job=job, worker=0, description="x", wait=True))
    time.sleep(0.2)
    assert first.is_alive()
    assert join(controller=address, job=job, worker=1, description="x", wait=True).worker == 1
    first.join()
    assert [ticket.worker for ticket in outcome] == [0]  # type: ignore[attr-defined]


def test_all_workers_are_told_of_a_mismatch(address: str, job: str) -> None:
    first, outcome = in_thread(
        lambda: join(controller=address, job=job, worker=0, description="thc, 4 bits", wait=True)
    )
    while not listed(address)["joined"]:
        time.sleep(0.01)
    says = r"differ: codec is thc, 4 bits at worker 0 \(w1\), but fixed at worker 1 \(w3\)\."
    with pytest.raises(DescriptionMismatchError, match=says):
        join(controller=address, job=job, worker=1, description="fixed", wait=True)
    first.join()
    assert isinstance(outcome[0], DescriptionMismatchError)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (
            '{"codec": "thc", "lanesum": "0.0.1"}',
            r"differ: lanesum is 0\.\d.* at worker 0 \(w1\), but 0\.0\.1 at worker 1",
        ),
        (
            "thc of an older version",
            "codec is thc at worker 0 .*, but thc of an older version at worker 1 .*; lanesum is",
        ),
        ("[1]", r"lanesum is 0\..* but an older version at worker 1"),
        ('{"codec": "' + "x" * 5000 + '"}', "codec is thc at worker 0 .w1., but x{500} at worker 1"),
    ],
)
def test_workers_of_other_versions_are_told_of_both(address: str, job: str, other: str, says: str) -> None:
    rpc.call(address, rpc.JOIN, {"job": job, "worker": 1, "description": other})
    with pytest.raises(DescriptionMismatchError, match=says):
        join(controller=address, job=job, worker=0, description="thc", wait=True)


def test_answers_about_jobs_withhold_the_tag(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = itertools.count(1)
    monkeypatch.setattr(secrets, "randbits", lambda bits: (1 << bits) - next(drawn))
    admitted = invoke(["job", "admit", "a", "--workers", "w1,w2", "--controller", address])
    assert str(join(controller=address, job="a", worker=0).tag).startswith("42949672")
    shown = invoke(["job", "list", "--json", "--controller", address])
    (job,) = json.loads(shown.output)
    assert {**job, "joined": [], "admitted": None} == {**json.loads(admitted.output), "admitted": None}
    calls = ((rpc.LIVE, {}), (rpc.RESIZE, {"slots": 4}), (rpc.LEAVE, {"worker": "w2"}), (rpc.EXTEND, {"host": "w2"}))
    answers = [json.dumps(rpc.call(address, method, {"job": "a", **message})) for method, message in calls]
    assert not [one for one in (shown.output, *answers) if '"tag"' in one or "42949672" in one]


def test_lists_are_cut_and_say_so(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers of more than 64 MiB did not arrive."""
    names = ["a", "b", "c"]
    for host, name in enumerate(names, 1):
        rpc.call(address, rpc.ADMIT, {"name": name, "workers": [f"w{host}"], "slots": 4, "udp_port": 20000 + host})
    monkeypatch.setattr(messages, "_MAX_LIST_BYTES", 1)
    for method in (rpc.JOBS, rpc.LIVE):
        answer = rpc.call(address, method, {})
        assert ([job["name"] for job in answer["jobs"]], answer["more"]) == (["a"], 2)
    assert list(rpc.jobs_by_name(address)) == names
    assert [
        job["name"] for job in json.loads(invoke(["job", "list", "--json", "--controller", address]).output)
    ] == names
    assert "2 more jobs are not shown: name one" in invoke(["top", "--once", "--controller", address]).output


def test_long_wait_for_others_is_logged(
    address: str, job: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(joining, "LOG_WAIT_S", 0.2)
    with pytest.raises(NotReadyError, match=r"Each rank calls attach"):
        join(controller=address, job=job, worker=0, wait=True, wait_s=1.0)
    (told,) = (one.getMessage() for one in caplog.records if "waited" in one.getMessage())
    assert told.startswith(f"Worker 0 of job '{job}' has waited 0.2 s for workers at w3, which have not joined. Each")


def test_waiting_ends(address: str, job: str) -> None:
    with pytest.raises(NotReadyError, match=rf"Workers at w3 have not joined job '{job}' within 0\.1 s"):
        join(controller=address, job=job, worker=0, wait=True, wait_s=0.1)
    before = incarnation(address)
    waiting, outcome = in_thread(lambda: join(controller=address, job=job, worker=0, wait=True))
    while incarnation(address) == before or not listed(address)["joined"]:
        time.sleep(0.01)
    rpc.call(address, rpc.REMOVE, {"job": job})
    waiting.join()
    assert isinstance(outcome[0], SupersededError)


def test_two_processes_with_one_rank(address: str, job: str) -> None:
    message = {"job": job, "worker": 0, "claimant": "one", "origin": "process 1 at w1"}
    rpc.call(address, rpc.JOIN, message)
    with pytest.raises(rpc.ControllerError, match=r"claimed twice: by process 1 at w1, and now by process .* at "):
        join(controller=address, job=job, worker=0)


def test_keeping_a_job_alive(address: str, job: str, site: Site, controller: Controller) -> None:
    ticket = join(controller=address, job=job, worker=0)
    other = join(controller=address, job=job, worker=1)
    site.clock.now += 100
    with KeepAlive(ticket, address, interval_s=0.02) as keep_alive:
        while controller.workers._job_seen[ticket.job] != site.clock.now:
            time.sleep(0.01)
        assert not keep_alive.superseded
        rpc.call(address, rpc.LEAVE, {"job": job, "worker": "w3"})
        while not keep_alive.superseded:
            time.sleep(0.01)
    assert not keep_alive._thread.is_alive()
    assert KeepAlive(other, address).check() == "superseded"
    unanswered = KeepAlive(ticket, "127.0.0.1:1", interval_s=0.05)
    with unanswered:
        time.sleep(0.2)
        assert not unanswered.superseded


def test_members_follow_their_job(address: str, job: str) -> None:
    def joined(worker: int, **more: Any) -> JobTicket:
        return join(controller=address, job=job, worker=worker, **more)

    with contextlib.ExitStack() as stack:
        members = [
            stack.enter_context(KeepAlive(joined(worker, description=text), address, interval_s=0.02))
            for worker, text in enumerate((None, "x"))
        ]
        rpc.call(address, rpc.EXTEND, {"job": job, "host": "w4"})
        while not all(member.superseded for member in members):
            time.sleep(0.01)
    tickets = [joined(0), joined(1), joined(2, wait=True)]
    assert len({ticket.tag for ticket in tickets}) == 1
    assert [ticket.worker for ticket in tickets] == [0, 1, 2]
    rpc.call(address, rpc.LEAVE, {"job": job, "worker": "w1"})
    assert KeepAlive(tickets[2], address).check() == "superseded"
    with pytest.raises(rpc.ControllerError, match="Host w1 has no part in job 'a'; w3, w4 have"):
        rpc.call(address, rpc.JOIN, {"job": job, "worker": "w1", "protocol": VERSION})
    with pytest.raises(rpc.ControllerError, match="has no worker 2; it has 2"):
        joined(2)
    assert joined(0).tag == joined(1, wait=True).tag


def test_job_in_use_is_removed_only_by_force(address: str, job: str, controller: Controller) -> None:
    def remove(*more: str) -> tuple[int, str]:
        result = invoke(["job", "remove", job, *more, "--controller", address])
        return result.exit_code, " ".join(result.output.split())

    with KeepAlive(join(controller=address, job=job, worker=0), address) as keep_alive:
        code, output = remove()
        assert code == 1 and "Job 'a' is in use. 1 of its workers live: w1 (" in output and "add --force" in output
        assert not keep_alive.superseded and [one.request.name for one in controller.present()] == [job]
        assert remove("--force")[0] == 0 and not controller.present()
        controller.admit(request(job, workers=2))
    assert remove()[0] == 0


def test_job_commands_manage_a_job(address: str, controller: Controller) -> None:
    def lanesum(*arguments: str) -> str:
        result = invoke(["job", *arguments, "--controller", address])
        assert result.exit_code == 0, result.output
        return result.output

    options = ["--slots", "90", "--quota", "10", "--priority", "1", "--quorum", "2", "--lease", "0"]
    admitted = json.loads(lanesum("admit", "a", "--workers", "w1,w2,w3", *options))
    assert (admitted["quota"], admitted["priority"], admitted["quorum"], admitted["lease_s"]) == (10, 1, 2, 0)
    assert admitted["left_out"] == {"s0": "with a quorum the server decides"}
    assert json.loads(lanesum("admit", "b", "--workers", "w1,w2", "--best-effort"))["placement"]["s1"]["shared"]
    assert json.loads(lanesum("resize", "a", "20"))["placement"]["s1"]["slots"] == 20
    assert json.loads(lanesum("join", "a", "w4"))["workers"] == ["w1", "w2", "w3", "w4"]
    assert json.loads(lanesum("leave", "a", "0"))["workers"] == ["w2", "w3", "w4"]
    listing = lanesum("list")
    for text in ("w2, w3, w4", "0..19", "ascend", "left out", "shared"):
        assert text in listing
    first, second = json.loads(lanesum("list", "--json"))
    assert first["moved"]["s0"]["why"] == admitted["left_out"]["s0"]
    for when in (first["admitted"], second["admitted"], first["moved"]["s0"]["since"]):
        assert datetime.datetime.fromisoformat(when).utcoffset() == datetime.timedelta(0)
        assert when in listing
    assert re.search(r" \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ a: new incarnation: w1 left", lanesum("events"))
    assert json.loads(lanesum("events", "--json"))[-1]["what"] == "new incarnation: w1 left"
    assert json.loads(lanesum("counters", "--json"))["server"]["refused"] == {"not a member": 1}
    lanesum("remove", "a")
    assert [job.request.name for job in controller.jobs()] == ["b"]


def test_counters_are_a_table_without_zeros(
    address: str, controller: Controller, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lines() -> list[list[str]]:
        result = invoke(["job", "counters", "--controller", address])
        assert result.exit_code == 0, result.output
        cells = [re.split("[│┃]", line.strip("│┃")) for line in result.output.splitlines()]
        return [[cell.strip() for cell in line] for line in cells]

    monkeypatch.setattr(site.switches["s1"], "decisions", lambda: {"claim": 1234567, "replay": 0, "accept": 5})
    found = lines()
    assert ["counter", "s0", "s1", "s2", "server"] in found and ["claim", "3", "1,234,567", "3", "2"] in found
    assert ["accept", "0", "5", "0", "0"] in found and ["refused: not a member", "0", "0", "0", "1"] in found
    assert not any("replay" in line for line in found)
    site.server.away = site.switches["s2"].away = True
    controller.reconciler.check_switch("s2")
    for switch in site.switches.values():
        monkeypatch.setattr(switch, "decisions", lambda: {"claim": 0})
    away = [["server: does not answer"], ["s2: lost: The switch is away"]]
    assert lines() == [*away, ["No packets yet."]]


def test_job_list_prints_markup_in_names_unchanged(address: str, controller: Controller) -> None:
    for name in ("[/b]", "[bold]b", ":cat:"):
        controller.admit(request(name, slots=8))
        result = invoke(["job", "list", "--controller", address])
        assert result.exit_code == 0 and f" {name} " in result.output, result.output


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ["--switch", "s9=127.0.0.1:1"],
            "names no switch of the topology. Give NAME=ADDRESS with NAME one of s0, s1, s2",
        ),
        (["--switch", "127.0.0.1:1"], "names no switch of the topology"),
        (["--switch", "s1=a:1", "--switch", "s1=b:1"], "--switch names s1 twice"),
        (["--server", "a:1", "--server", "a:1"], "--server names a:1 twice"),
        (["--election-id", "0"], "Invalid value for '--election-id'"),
        (["--words", "7", "--switch", "s0=127.0.0.1:9"], "No BMv2 program for 7 words per packet"),
        (["--words", "1"], "Invalid value for '--words'"),
        (["--election-id", "4294967296"], "Invalid value for '--election-id'"),
        (["--state", "/nonexistent/state"], "Cannot use the state file /nonexistent/state"),
    ],
)
def test_controller_that_cannot_start_names_the_reason(options: list[str], says: str) -> None:
    result = invoke(["controller", "--topology", "tree2x2", *options])
    assert result.exit_code != 0
    assert "Traceback" not in result.output
    assert says in result.output


@pytest.mark.parametrize(
    ("names", "given", "addresses"),
    [
        (["s1"], ["127.0.0.1:9559"], {"s1": "127.0.0.1:9559"}),
        (["s1"], ["unix:/run/s1.sock"], {"s1": "unix:/run/s1.sock"}),
        (["s0", "s1"], ["s1=unix:/a", "s0=h:1"], {"s1": "unix:/a", "s0": "h:1"}),
        (["s1"], [], {}),
    ],
)
def test_addresses_of_switches(names: list[str], given: list[str], addresses: dict[str, str]) -> None:
    assert ControllerOptions(switch=given).switch_addresses(names) == addresses
