# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tokens, roles, and the calls and jobs that are open to each of them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from lanesum import environment
from lanesum.errors import ConfigurationError
from lanesum.joining import join
from lanesum.keep_alive import KeepAlive, claimant
from lanesum.rpc import controller as rpc
from lanesum.rpc import tls
from lanesum.rpc.caller import UNAUTHENTICATED, Caller, CallerRole
from lanesum.rpc.json_grpc import RefusedCallError, ReplyStream
from lanesum_control.controller.controller import Controller
from lanesum_control.controller.service import ControllerService
from lanesum_control.security import tokens
from lanesum_control.security.access import UNKNOWN, Access, sees
from lanesum_control.state.store import Store
from tests.command_line import invoke
from tests.control_plane.control_fakes import Site

PROCESSES, CHANGES = 6, 15
OPERATOR_CALLS = {rpc.COUNTERS, rpc.EXAMINE, rpc.DRAIN, rpc.UNDRAIN, rpc.DRAINS, rpc.TENANT, rpc.TENANTS, rpc.COMPARE}
TENANT_CALLS = {rpc.ADMIT, rpc.REMOVE, rpc.RESIZE, rpc.LEAVE, rpc.EXTEND, rpc.RENEW, rpc.EVENTS, rpc.TRACE}
WORKER_CALLS = {rpc.JOIN, rpc.READY, rpc.KEEPALIVE, rpc.WATCH, rpc.REPORT, rpc.JOBS, rpc.LIVE}


def _pem(part: bytes) -> bytes:
    """Return PEM of a certificate that has ``part`` in it, as far as the identity of a caller looks."""
    return ssl.DER_cert_to_PEM_cert(part).encode()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with the token file ``tokens``, and the tokens of an operator and of two tenants."""
    for name, role in (("root", CallerRole.OPERATOR), ("alice", CallerRole.TENANT), ("bob", CallerRole.TENANT)):
        tokens.write_token(tmp_path / name, tokens.add(tmp_path / "tokens", name, role))
    return tmp_path


@pytest.fixture
def controller() -> Controller:
    return Site("tree2x2").start()


@pytest.fixture
def address(controller: Controller, files: Path) -> Iterator[str]:
    access = Access(controller.present, tokens.TokenFile(files / "tokens"), closed=True)
    with ControllerService(controller, "127.0.0.1:0", access=access) as running:
        yield f"127.0.0.1:{running.port}"


@pytest.fixture
def act_as(files: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def become(name: str | None) -> None:
        if name is None:
            monkeypatch.delenv(environment.TOKEN_FILE, raising=False)
        else:
            monkeypatch.setenv(environment.TOKEN_FILE, str(files / name))

    return become


def admit(address: str, files: Path, name: str, *hosts: str) -> None:
    """Admit a job from the command line; its token is in the file ``NAME-workers``."""
    command = ["job", "admit", name, "--workers", ",".join(hosts), "--controller", address, "--slots", "8"]
    done = invoke([*command, "--worker-token", str(files / f"{name}-workers")])
    assert done.exit_code == 0, done.output


def test_tenant_sees_and_touches_its_own_jobs_alone(address: str, files: Path, act_as: Any) -> None:
    act_as("alice")
    admit(address, files, "a", "w1", "w2")
    act_as("bob")
    admit(address, files, "b", "w3")
    assert [job["name"] for job in rpc.call(address, rpc.JOBS, {})["jobs"]] == ["b"]
    for method in (rpc.JOIN, rpc.REMOVE, rpc.RESIZE, rpc.LEAVE, rpc.EXTEND, rpc.TRACE):
        message = {"job": "a", "worker": 0, "slots": 4, "host": "w4"}
        with pytest.raises(rpc.ControllerError, match=r"The tenant 'bob' has no job 'a'"):
            rpc.call(address, method, message)
    with pytest.raises(rpc.ControllerError, match="has no job 'a'"):
        rpc.call(address, rpc.ADMIT, {"name": "a", "workers": ["w4"], "take_over": True})
    with pytest.raises(rpc.ControllerError, match=f"may not call {rpc.COUNTERS}"):
        rpc.call(address, rpc.COUNTERS, {})
    act_as("root")
    assert [job["name"] for job in rpc.call(address, rpc.JOBS, {})["jobs"]] == ["a", "b"]
    rpc.call(address, rpc.REMOVE, {"job": "a"})
    act_as("bob")
    rpc.call(address, rpc.REMOVE, {"job": "b"})


@pytest.mark.parametrize(("name", "message"), [("5", {"job": 5}), ("None", {}), ("True", {"job": True})])
def test_name_that_is_no_text_opens_no_job(
    address: str, files: Path, act_as: Any, name: str, message: dict[str, Any]
) -> None:
    """The service reads a name as text, so a job may have the text of a number as its name."""
    act_as("alice")
    admit(address, files, name, "w1", "w2")
    act_as("bob")
    for method in (rpc.JOIN, rpc.REMOVE, rpc.RESIZE, rpc.LEAVE, rpc.EXTEND, rpc.TRACE):
        with pytest.raises(rpc.ControllerError, match=f"The tenant 'bob' has no job '{name}'"):
            rpc.call(address, method, {**message, "worker": 0, "slots": 4, "host": "w4"})


def test_error_hides_names_of_other_tenants_jobs(address: str, files: Path, act_as: Any) -> None:
    act_as("alice")
    admit(address, files, "secretname", "w1")
    act_as("bob")
    with pytest.raises(rpc.ControllerError) as caught:
        rpc.call(address, rpc.JOIN, {"job": "other", "worker": 0})
    assert "secretname" not in str(caught.value)


def test_worker_has_its_job_alone(address: str, files: Path, act_as: Any) -> None:
    act_as("alice")
    admit(address, files, "a", "w1", "w2")
    admit(address, files, "b", "w3", "w4")
    act_as("a-workers")
    ticket = join(controller=address, job="a", worker=0)
    state = {"job": ticket.job, "tag": ticket.tag, "worker": 0}
    assert rpc.call(address, rpc.READY, state)["state"] == "waiting"
    with pytest.raises(rpc.ControllerError, match="A worker of job 'a' has no job 'b'"):
        join(controller=address, job="b", worker=0)
    with pytest.raises(rpc.ControllerError, match=f"has no job {ticket.job + 1}"):
        rpc.call(address, rpc.READY, {**state, "job": ticket.job + 1})
    for method in sorted(TENANT_CALLS | OPERATOR_CALLS):
        with pytest.raises(rpc.ControllerError, match=f"A worker of job 'a' may not call {method}"):
            rpc.call(address, method, {"job": "a", "name": "a", "slots": 4})


def test_ticket_of_living_holder_is_not_issued_again(address: str, files: Path, act_as: Any) -> None:
    act_as("alice")
    admit(address, files, "a", "w1")
    act_as("a-workers")
    with KeepAlive(join(controller=address, job="a", worker=0), address):
        message = {"job": "a", "worker": 0, "claimant": "other", "origin": "elsewhere"}
        with pytest.raises(rpc.ControllerError, match="cannot be this worker"):
            rpc.call(address, rpc.JOIN, message)
        with pytest.raises(rpc.ControllerError, match=f"may not call {rpc.JOIN}"):
            rpc.call(address, rpc.JOIN, {**message, "take_over": True})


def test_worker_learns_that_its_job_has_ended(address: str, files: Path, act_as: Any) -> None:
    act_as("alice")
    admit(address, files, "a", "w1")
    act_as("a-workers")
    ticket = join(controller=address, job="a", worker=0)
    act_as("alice")
    rpc.call(address, rpc.REMOVE, {"job": "a"})
    (files / "old").write_bytes((files / "a-workers").read_bytes())
    admit(address, files, "a", "w1")
    act_as("old")
    state = rpc.call(address, rpc.KEEPALIVE, {"job": ticket.job, "tag": ticket.tag, "worker": 0})
    assert state["state"] == "removed" and "was removed" in state["why"]
    with pytest.raises(rpc.ControllerError, match="of a job that has ended, has no job 'a'"):
        join(controller=address, job="a", worker=0)


@pytest.mark.parametrize("name", [None, "wrong"])
def test_caller_without_valid_token_has_no_rights(address: str, files: Path, act_as: Any, name: str | None) -> None:
    act_as("alice")
    admit(address, files, "a", "w1")
    tokens.write_token(files / "wrong", tokens.new_token())
    act_as(name)
    for method in sorted(TENANT_CALLS | {rpc.JOBS, rpc.LIVE}):
        message = {"name": "b", "workers": ["w2"]} if method == rpc.ADMIT else {}
        with pytest.raises(rpc.ControllerError, match=r"without a token, or with one that is unknown .* may not"):
            rpc.call(address, method, message)
    with pytest.raises(rpc.ControllerError, match="has no job 'a'"):
        join(controller=address, job="a", worker=0)


@pytest.mark.parametrize("command", [["job", "list"], ["job", "list", "--json"], ["top", "--once"], ["job", "events"]])
def test_command_with_withdrawn_token_fails(address: str, files: Path, act_as: Any, command: list[str]) -> None:
    act_as("alice")
    assert invoke([*command, "--controller", address]).exit_code == 0
    tokens.remove(files / "tokens", "alice")
    done = invoke([*command, "--controller", address])
    assert done.exit_code == 1 and "with one that is unknown" in done.output


@pytest.mark.parametrize(("name", "code"), [("wrong", "UNAUTHENTICATED"), ("alice", "PERMISSION_DENIED")])
def test_refused_access_has_its_status_code(address: str, files: Path, act_as: Any, name: str, code: str) -> None:
    tokens.write_token(files / "wrong", tokens.new_token())
    act_as(name)
    with grpc.insecure_channel(address) as channel:
        method = channel.unary_unary(f"/{rpc.SERVICE}/{rpc.COUNTERS}")
        with pytest.raises(grpc.RpcError) as refused:
            method(b"{}", metadata=tls.metadata(address), wait_for_ready=True, timeout=60)
    assert refused.value.code() is grpc.StatusCode[code]


def test_every_method_has_a_role() -> None:
    """A new method is open to operators alone until it is added here."""
    methods = {value for name, value in vars(rpc).items() if name.isupper() and isinstance(value, str)}
    called = methods - {rpc.SERVICE, *rpc.OVER, *rpc.GONE_KINDS}
    assert called == OPERATOR_CALLS | TENANT_CALLS | WORKER_CALLS
    access = Access(list)
    for method in called:
        for role, calls in ((CallerRole.WORKER, WORKER_CALLS), (CallerRole.TENANT, WORKER_CALLS | TENANT_CALLS)):
            try:
                access.check(Caller("x", role), method, {})
            except rpc.LanesumError as error:
                assert ("may not call" in str(error)) is (method not in calls)
            else:
                assert method in calls


def test_unknown_token_gives_no_rights_on_sockets(files: Path) -> None:
    known, metadata = tokens.TokenFile(files / "tokens"), {tls.AUTHORIZATION: f"{tls.BEARER}{tokens.new_token()}"}
    assert Access(list, known).authenticate(metadata, {}) == UNKNOWN
    assert Access(list, known).authenticate({}, {}) == UNAUTHENTICATED
    assert Access(list).authenticate(metadata, {}) == UNAUTHENTICATED, "the token may be of another controller"


@pytest.mark.parametrize(
    ("closed", "uri", "expected"),
    [
        (False, None, UNAUTHENTICATED),
        (True, None, UNKNOWN),
        (True, b"spiffe://lanesum/operator/root", Caller("root", CallerRole.OPERATOR)),
        (True, b"spiffe://lanesum/tenant/alice", Caller("alice", CallerRole.TENANT)),
        (True, b"spiffe://lanesum/worker/a", UNKNOWN),  # else the certificate would be a token of job "a"
        (True, b"spiffe://elsewhere/operator/root", UNKNOWN),
        (True, b"spiffe://lanesum/operator/root/x", UNKNOWN),
        (True, b"\xff", UNKNOWN),
    ],
)
def test_caller_is_the_one_of_the_certificate(closed: bool, uri: bytes | None, expected: Caller) -> None:
    access = Access(list, closed=closed)
    context = {} if uri is None else {"peer_uri": [uri], "x509_pem_cert": [_pem(uri + b"0")]}
    assert access.authenticate({}, context) == expected


@pytest.mark.parametrize("method", [rpc.JOBS, rpc.EVENTS, rpc.LIVE])
def test_call_about_job_of_other_tenant_is_refused(method: str) -> None:
    jobs = [SimpleNamespace(number=1, owner=owner, request=SimpleNamespace(name=owner)) for owner in ("alice", "bob")]
    access, alice = Access(lambda: jobs), Caller("alice", CallerRole.TENANT)  # type: ignore[arg-type]
    access.check(alice, method, {})
    access.check(alice, method, {"job": "alice"})
    with pytest.raises(tls.AccessError, match="has no job 'bob'"):
        access.check(alice, method, {"job": "bob"})


def test_two_identities_in_a_certificate_are_none() -> None:
    both = [b"spiffe://lanesum/operator/root", b"spiffe://lanesum/tenant/alice"]
    context = {"peer_uri": both, "x509_pem_cert": [_pem(b"".join(both))]}
    assert Access(list, closed=True).authenticate({}, context) == UNKNOWN


def test_caller_without_the_certificate_is_unknown() -> None:
    """Without it the service cannot tell whether the identity is whole."""
    assert Access(list, closed=True).authenticate({}, {"peer_uri": [b"spiffe://lanesum/operator/root"]}) == UNKNOWN


def test_token_file_that_breaks_keeps_its_callers(
    files: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tokens.TokenFile(files / "tokens")
    token = (files / "alice").read_text().strip()
    assert known.caller(token) == Caller("alice", CallerRole.TENANT)
    tokens.remove(files / "tokens", "bob")
    assert known.caller((files / "bob").read_text().strip()) is None
    (files / "tokens").write_text(f"alice tenant {token}\n")
    assert known.caller(token) == Caller("alice", CallerRole.TENANT)
    shown = capfd.readouterr().err
    assert "line 1 is no name, role and SHA-256 of a token" in shown and "The earlier callers stay." in shown
    assert token not in shown
    (files / "tokens").unlink()
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(write=lambda _text: os.write(-1, b"")))
    assert known.caller(token) == Caller("alice", CallerRole.TENANT), "nothing can be written to standard error"
    tokens.add(files / "new", "alice", CallerRole.TENANT)
    (files / "new").replace(files / "tokens")
    assert known.caller(token) is None


@pytest.mark.parametrize("name", ["", "a b", "a\nb", "é", "x" * 64])
def test_token_of_invalid_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be the tenant of a token"):
        tokens.add(tmp_path / "tokens", name, CallerRole.TENANT)


_CHANGE_CALLERS = """
import pathlib, sys
from lanesum.rpc.caller import CallerRole
from lanesum_control.security import tokens

path, process, changes = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for number in range(changes):
    tokens.add(path, f"new-{process}-{number}", CallerRole.TENANT)
    tokens.remove(path, f"old-{process}-{number}")
"""


def test_token_changes_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    for process in range(PROCESSES):
        for number in range(CHANGES):
            tokens.add(path, f"old-{process}-{number}", CallerRole.TENANT)
    command = [sys.executable, "-c", _CHANGE_CALLERS, str(path)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with contextlib.ExitStack() as running:
        changing = [
            running.enter_context(subprocess.Popen([*command, str(one), str(CHANGES)], **pipes))
            for one in range(PROCESSES)
        ]
        assert [process.stdout.readline() for process in changing] == ["ready\n"] * PROCESSES
        for process in changing:
            process.stdin.write("start\n")
            process.stdin.flush()
        assert [process.wait() for process in changing] == [0] * PROCESSES
    assert tokens.roles(path).keys() == {f"new-{one}-{number}" for one in range(PROCESSES) for number in range(CHANGES)}
    assert {path.name for path in tmp_path.iterdir()} == {"tokens", "tokens.lock"}


def test_token_change_while_locked_names_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tokens"
    tokens.add(path, "alice", CallerRole.TENANT)
    before = path.read_bytes()
    monkeypatch.setattr(tokens, "_LOCK_S", 0.1)
    with (tmp_path / "tokens.lock").open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        for change in (lambda: tokens.add(path, "bob", CallerRole.TENANT), lambda: tokens.remove(path, "alice")):
            with pytest.raises(ConfigurationError, match=r"another process holds .*tokens\.lock for 0\.1 s\. End that"):
                change()
    assert path.read_bytes() == before
    tokens.remove(path, "alice")
    with pytest.raises(ConfigurationError, match=r"Cannot lock the token file .*/none/tokens: No such file"):
        tokens.add(tmp_path / "none" / "tokens", "alice", CallerRole.TENANT)


def test_secrets_have_private_files_and_stored_hashes(tmp_path: Path, files: Path) -> None:
    state = tmp_path / "state.db"
    state.touch(0o644)
    with Store(state) as store:
        controller = Site().start(store=store)
        with ControllerService(controller, "127.0.0.1:0") as service:
            here = f"127.0.0.1:{service.port}"
            admit(here, files, "a", "w1")
            out = str(files / "ticket")
            assert invoke(["job", "ticket", "a", "--worker", "0", "--controller", here, "--out", out]).exit_code == 0
            kept = b"".join(path.read_bytes() for path in tmp_path.glob("state.db*"))
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("state.db*")}
    token = (files / "a-workers").read_bytes().strip()
    assert token not in kept and tokens.token_hash(token.decode()).encode() in kept
    modes |= {name: stat.S_IMODE((files / name).stat().st_mode) for name in ("tokens", "alice", "a-workers", "ticket")}
    assert set(modes.values()) == {0o600}, modes


def test_refused_admission_leaves_the_earlier_token(address: str, files: Path, act_as: Any) -> None:
    act_as("alice")
    admit(address, files, "a", "w1")
    before = (files / "a-workers").read_bytes()
    command = ["job", "admit", "a", "--workers", "w2", "--controller", address]
    refused = invoke([*command, "--worker-token", str(files / "a-workers")])
    assert refused.exit_code == 1 and "is admitted already" in refused.output
    assert (files / "a-workers").read_bytes() == before
    assert not list(files.glob("*.new")) and not list(files.glob(".*.new"))


def test_token_commands_add_list_and_remove(tmp_path: Path) -> None:
    file = str(tmp_path / "tokens")
    added = invoke(["token", "add", file, "alice", "--out", str(tmp_path / "alice")])
    assert added.exit_code == 0 and added.output == ""
    assert tokens.TokenFile(tmp_path / "tokens").caller((tmp_path / "alice").read_text().strip()) is not None
    assert invoke(["token", "list", file]).output == "alice tenant\n"
    before = (tmp_path / "tokens").read_text()
    lost = invoke(["token", "add", file, "alice", "--out", str(tmp_path / "none" / "alice")])
    assert lost.exit_code == 2 and "Cannot write" in lost.output
    assert (tmp_path / "tokens").read_text() == before, "the earlier token is still valid"
    assert {path.name for path in tmp_path.iterdir()} == {"tokens", "tokens.lock", "alice"}
    assert (
        "cannot be the worker"
        in invoke(["token", "add", file, "x", "--role", "worker", "--out", str(tmp_path / "x")]).output
    )
    assert invoke(["token", "remove", file, "alice"]).exit_code == 0
    assert "has no caller 'alice'" in invoke(["token", "remove", file, "alice"]).output


def test_token_add_never_replaces_device_or_link(tmp_path: Path) -> None:
    one, other = os.openpty()
    device = os.ttyname(other)
    (tmp_path / "link").symlink_to("elsewhere")
    file = tmp_path / "tokens"
    for out, why in (
        (device, f"Cannot write {device}: it is a device"),
        (str(tmp_path / "link"), "is a symbolic link to"),
        (str(file), "is the token file itself. Give another"),
    ):
        refused = invoke(["token", "add", str(file), "alice", "--out", out])
        assert refused.exit_code == 2 and why in " ".join(refused.output.split())
    assert stat.S_ISCHR(Path(device).stat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["link"], "no caller was added"
    os.close(one)
    os.close(other)


@pytest.mark.parametrize("replaced", [False, True])
def test_watch_ends_once_its_token_is_withdrawn(address: str, files: Path, act_as: Any, replaced: bool) -> None:
    watches = {}
    for name, owner, token, host in (
        ("a", "alice", "alice", "w1"),
        ("b", "bob", "bob", "w2"),
        ("c", "bob", "c-workers", "w3"),
    ):
        act_as(owner)
        admit(address, files, name, host)
        act_as(token)
        ticket = join(controller=address, job=name, worker=0)
        message = {"job": ticket.job, "tag": ticket.tag, "worker": 0, "claimant": claimant()}
        watches[token] = ReplyStream(address, rpc.SERVICE, rpc.WATCH, message)
    answers = {token: iter(watch) for token, watch in watches.items()}
    for answer in answers.values():
        assert next(answer)["state"] == "ready"
    if replaced:
        tokens.add(files / "tokens", "alice", CallerRole.TENANT)
    else:
        tokens.remove(files / "tokens", "alice")
    with pytest.raises(RefusedCallError, match="The token of this caller was withdrawn"):
        while True:
            next(answers["alice"])
    act_as("root")
    rpc.call(address, rpc.REMOVE, {"job": "b"})
    rpc.call(address, rpc.REMOVE, {"job": "c"})
    for token in ("bob", "c-workers"):  # their streams went on until the end of the job
        assert list(answers[token])[-1]["state"] == "removed"


def test_tenant_reads_the_events_of_its_jobs_alone(address: str, files: Path, act_as: Any) -> None:
    act_as("alice")
    admit(address, files, "a", "w1")
    act_as("bob")
    assert rpc.call(address, rpc.EVENTS, {})["events"] == []
    admit(address, files, "b", "w2")
    for message in ({}, {"since": 0}):
        assert {event["whom"] for event in rpc.call(address, rpc.EVENTS, message)["events"]} == {"b"}
    act_as("root")
    assert {event["whom"] for event in rpc.call(address, rpc.EVENTS, {})["events"]} >= {"a", "b"}


@pytest.mark.parametrize("name", ["a  b", "controller", "s1", "server"])
def test_job_name_exposing_other_events_is_refused(address: str, files: Path, act_as: Any, name: str) -> None:
    act_as("alice")
    admit(address, files, "a b", "w1")
    act_as("bob")
    with pytest.raises(rpc.ControllerError, match=r"Job name .* (has spaces in a row|is that of a switch)"):
        rpc.call(address, rpc.ADMIT, {"name": name, "workers": ["w2"], "slots": 4})
    assert rpc.call(address, rpc.EVENTS, {})["events"] == []


@pytest.mark.parametrize(
    "name",
    ["Train", "\uff54rain", "tra\u3164in", "tr\u034fain", "train\ufe0f", "\U0001d42drain", "S1", "\uff23ONTROLLER"],
)
def test_job_name_like_another_one_is_refused(address: str, files: Path, act_as: Any, name: str) -> None:
    act_as("alice")
    admit(address, files, "train", "w1")
    act_as("bob")
    with pytest.raises(rpc.ControllerError, match="looks like that of another job or part") as caught:
        rpc.call(address, rpc.ADMIT, {"name": name, "workers": ["w2"], "slots": 4})
    assert "'train'" not in str(caught.value)
    for fine in ("train2", "trän", "s"):
        rpc.call(address, rpc.ADMIT, {"name": fine, "workers": ["w2"], "slots": 1})
        rpc.call(address, rpc.REMOVE, {"job": fine})
    act_as("alice")
    rpc.call(address, rpc.ADMIT, {"name": "train", "workers": ["w1"], "slots": 4, "take_over": True})


def test_job_name_without_visible_character_is_refused(address: str, act_as: Any) -> None:
    act_as("bob")
    with pytest.raises(rpc.ControllerError, match="has no visible character"):
        rpc.call(address, rpc.ADMIT, {"name": "\u3164", "workers": ["w2"], "slots": 4})


def test_token_name_like_another_one_is_refused(files: Path) -> None:
    before = (files / "tokens").read_bytes()
    with pytest.raises(ConfigurationError, match=r"'Alice' looks like the caller 'alice' of .*tokens\. Use that name"):
        tokens.add(files / "tokens", "Alice", CallerRole.OPERATOR)
    assert (files / "tokens").read_bytes() == before
    tokens.remove(files / "tokens", "alice")
    tokens.add(files / "tokens", "Alice", CallerRole.OPERATOR)


def test_tenant_reads_no_events_of_removed_namesake(
    address: str, files: Path, controller: Controller, act_as: Any
) -> None:
    act_as("alice")
    rpc.call(address, rpc.ADMIT, {"name": "a", "workers": ["w1"], "slots": 4})
    rpc.call(address, rpc.REMOVE, {"job": "a"})
    act_as("bob")
    rpc.call(address, rpc.ADMIT, {"name": "a", "workers": ["w1"], "slots": 5})
    rpc.call(address, rpc.RESIZE, {"job": "a", "slots": 6})
    for message in ({}, {"since": 0}, {"since_s": 0.0}):
        found = rpc.call(address, rpc.EVENTS, message)["events"]
        assert [event["what"] for event in found] == ["admitted as job 2", "resized to 6 slots"]
        assert {event["actor"] for event in found} == {"bob"}
    assert [event.what for event in controller.events.since() if event.whom == "a"][:2] == [
        "admitted as job 1",
        "removed",
    ]


def test_worker_of_job_root_is_not_root(address: str, controller: Controller, files: Path, act_as: Any) -> None:
    act_as("bob")
    admit(address, files, "root", "w1")
    act_as("root-workers")
    with pytest.raises(rpc.ControllerError, match="A worker of job 'root' may not call"):
        rpc.call(address, rpc.REMOVE, {"job": "root"})
    join(controller=address, job="root", worker=0)
    assert [event.actor for event in controller.events.since() if event.whom == "root"] == [
        "bob",
        "worker of root",
        "worker of root",
    ]


def test_refused_calls_are_events_with_caller_and_source(
    address: str, controller: Controller, files: Path, act_as: Any
) -> None:
    act_as("alice")
    admit(address, files, "a", "w1")
    (files / "wrong").write_text("no-such-token")
    for name, method in (("bob", rpc.REMOVE), ("wrong", rpc.JOBS), (None, rpc.EVENTS), ("bob", rpc.COUNTERS)):
        act_as(name)
        with pytest.raises(rpc.ControllerError):
            rpc.call(address, method, {"job": "a"})
    refused = [event for event in controller.events.since() if event.what.startswith("refused: ")]
    assert [(event.whom, event.what.split(":")[1].strip(), event.actor) for event in refused] == [
        ("a", rpc.REMOVE, "bob"),
        ("a", rpc.JOBS, ""),
        ("a", rpc.EVENTS, ""),
        ("a", rpc.COUNTERS, "bob"),
    ]
    assert all(event.source.startswith("ipv4:127.0.0.1") for event in refused)
    assert not any("no-such-token" in event.line() for event in controller.events.since())


def test_caller_without_a_name_sees_no_job() -> None:
    for role in (CallerRole.TENANT, CallerRole.WORKER):
        assert not sees(Caller("", role), "", "")
    assert sees(Caller("blue", CallerRole.TENANT), "job", "blue") and not sees(
        Caller("blue", CallerRole.TENANT), "blue", "red"
    )
    assert sees(Caller("job", CallerRole.WORKER), "job", "blue") and not sees(
        Caller("blue", CallerRole.WORKER), "job", "blue"
    )


def test_caller_with_two_lines_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text("".join(f"blue tenant {tokens.token_hash(token)}\n" for token in "ab"))
    with pytest.raises(ConfigurationError, match="line 2 names a caller a second time"):
        tokens.read(path)
