# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Invalid requests to the control services are refused with a reason, and change no job, slot or lease.

A caller that reaches these services can also make valid requests, such as removing a job. These tests check only that
invalid requests have no effect.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import grpc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lanesum.rpc import controller as rpc
from lanesum.rpc import json_grpc
from lanesum.rpc.calls import cut
from lanesum.rpc.limits import Limits
from lanesum.server import AggregationServer
from lanesum.server import service as server_service
from lanesum.server.service import ServerService
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.controller.service import ControllerService
from lanesum_control.jobs.records import Taken
from lanesum_control.planner.network import Network
from lanesum_control.switches.managed import RemoteSwitch
from lanesum_fabric.program.capabilities import JOB_TABLES
from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_fabric.topology import load
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.p4runtime import P4RuntimeServer

LOCALHOST = "127.0.0.1"
HONEST = "honest job"  # nothing random has this name
REFUSED = ("INVALID_ARGUMENT", "FAILED_PRECONDITION")
LEASE_S = 100.0
CONTROLLER = (
    rpc.JOIN, rpc.ADMIT, rpc.REMOVE, rpc.JOBS, rpc.COUNTERS, rpc.READY, rpc.KEEPALIVE, rpc.RESIZE, rpc.LEAVE,
    rpc.EXTEND, rpc.RENEW, rpc.EVENTS, rpc.TRACE,
)  # fmt: skip
SERVER = (server_service.ADMIT, server_service.REMOVE, server_service.STATUS)


class Site:
    """A controller with an honest job at a real switch and a real server, and raw bytes for both services."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.now = 0.0
        address = f"unix:{folder}/p4runtime"
        self.server = stack.enter_context(AggregationServer((LOCALHOST, 0)))
        stack.enter_context(P4RuntimeServer(EmbeddedSwitch(), address, 1))
        self.switch = RemoteSwitch(address, bmv2_pipeline())
        self.controller = Controller(
            Network.of(load("star4"), loopback=False),
            self.server,
            {"s1": self.switch},
            clock=lambda: self.now,
            connect_timeout_s=60,
        )
        stack.callback(self.controller.close)
        self.honest = self.controller.admit(JobRequest(HONEST, ("w1", "w2"), slots=16, lease_s=0))
        services = {
            rpc.SERVICE: stack.enter_context(ControllerService(self.controller, f"{LOCALHOST}:0")).port,
            server_service.SERVICE: stack.enter_context(ServerService(self.server, f"{LOCALHOST}:0")).port,
        }
        self._channels = {
            name: stack.enter_context(grpc.insecure_channel(f"{LOCALHOST}:{port}")) for name, port in services.items()
        }
        self.entries = self.all_entries()

    def all_entries(self) -> list[Any]:
        device = self.switch.device
        return [
            sorted(repr((one.match, one.action, one.params)) for one in device.entries(table)) for table in JOB_TABLES
        ]

    def call(self, service: str, method: str, data: bytes) -> str:
        """The status of a call; anything but bytes that a service made is a refusal with words."""
        try:
            reply = self._channels[service].unary_unary(f"/{service}/{method}")(data, timeout=120)
        except grpc.RpcError as error:
            assert error.details()
            return str(error.code().name)
        json_grpc.decode(reply)
        return "OK"

    def clean_up(self) -> None:
        """Remove, by the services' own means, what nonsense has admitted after all."""
        for job in self.controller.jobs():
            if job.request.name != HONEST:
                message = json.dumps({"job": job.request.name}).encode()
                assert self.call(rpc.SERVICE, rpc.REMOVE, message) == "OK"
        for number in list(self.server.aggregator.jobs):
            if number != self.honest.number:
                message = json.dumps({"job": number}).encode()
                assert self.call(server_service.SERVICE, server_service.REMOVE, message) == "OK"

    def assert_untouched(self) -> None:
        self.clean_up()
        assert self.controller.jobs() == [self.honest]
        assert list(self.server.aggregator.jobs) == [self.honest.number]
        assert self.server.aggregator.jobs[self.honest.number].tag == self.honest.tickets[0].tag
        assert self.all_entries() == self.entries
        assert self.server.broken == 0


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with contextlib.ExitStack() as stack:
        yield Site(tmp_path_factory.mktemp("site"), stack)


@pytest.fixture
def site(running: Site) -> Iterator[Site]:
    """Every test of this module ends with the honest job as it was."""
    yield running
    running.assert_untouched()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(-2, 40) | st.floats() | st.text(max_size=20)
    | st.sampled_from(["w1", "w2", "w9", "ADD32", "thc", "\ud800", "9" * 5000, 10**400]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
FIELDS = (
    "job", "worker", "tag", "claimant", "origin", "description", "slots", "host", "since",
    *(field.name for field in dataclasses.fields(JobRequest)),
)  # fmt: skip
MESSAGES = st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), VALUES, max_size=6)
VALID = {"name": "x", "workers": ["w3", "w4"], "slots": 8, "codec": None}
REQUESTS = st.dictionaries(st.sampled_from(FIELDS), VALUES, min_size=1, max_size=3).map(lambda odd: {**VALID, **odd})


@pytest.mark.long
def test_services_random_messages_change_no_job(site: Site) -> None:
    """Any JSON for any method. A request that happens to be valid is carried out, and can be taken back."""

    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(method=st.sampled_from(CONTROLLER), message=MESSAGES)
    def controller(method: str, message: dict[str, Any]) -> None:
        assert site.call(rpc.SERVICE, method, json.dumps(message).encode()) in ("OK", *REFUSED)

    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(message=REQUESTS)
    def requests(message: dict[str, Any]) -> None:
        assert site.call(rpc.SERVICE, rpc.ADMIT, json.dumps(message).encode()) in ("OK", *REFUSED)
        site.clean_up()

    @settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(method=st.sampled_from(SERVER), message=MESSAGES)
    def server(method: str, message: dict[str, Any]) -> None:
        if message.get("job") == site.honest.number:
            return
        if method == server_service.ADMIT and "job" in message:
            message["job"] = json.dumps({**json.loads(other_job(site)), **message})
        assert site.call(server_service.SERVICE, method, json.dumps(message).encode()) in ("OK", *REFUSED)

    controller()
    requests()
    server()


def other_job(site: Site) -> str:
    """Return a valid job for the server."""
    return dataclasses.replace(site.server.aggregator.jobs[site.honest.number], job=999, tag=1).to_json()


@pytest.mark.parametrize(
    "data",
    [
        b"", b"null", b"[]", b"5", b"\xff\xfe", b"{" * 50_000, b"[" * 200_000, b'{"a":' * 100_000, b"1" * 5000,
        b'{"job": ' + b"9" * 5000 + b"}", b'{"job": "\\ud800"}', b'{"job": "x", "job": [], "worker": NaN}',
        b'{"job": "' + b"x" * 1_000_000 + b'"}', b'{"name": "' + b"\xc3\xa9" * 100_000 + b'", "workers": ["w9"]}',
    ],
    ids=lambda data: f"{data[:12]!r} {len(data)}",
)  # fmt: skip
def test_services_malformed_bytes_are_refused(site: Site, data: bytes) -> None:
    """Neither shallow nor bottomless; whatever is quoted in the refusal fits into it."""
    for service, methods in ((rpc.SERVICE, CONTROLLER), (server_service.SERVICE, SERVER)):
        for method in methods:
            status = site.call(service, method, data)
            ignores = method in (rpc.JOBS, rpc.COUNTERS, rpc.EVENTS, server_service.STATUS)
            assert status in REFUSED or (ignores and status == "OK"), (method, status)


@pytest.mark.parametrize("character", ["x", " ", "\u00e9", "\u20ac", "\U0001f600"])
@pytest.mark.parametrize("length", [500, 1000, 3000, 10_000, 1_000_000])
def test_cut_refusal_fits_the_metadata_limit_of_grpc(character: str, length: int) -> None:
    """From 8 KiB on it refuses some, so that a call would fail only now and then."""
    text = f"The name {character * length} is too long. Use a shorter one."
    kept = cut(text)
    assert len(quote(kept)) < 8000
    assert kept.startswith("The name ") and kept.endswith("Use a shorter one.")
    assert (kept == text) == (len(quote(text)) <= 7 << 10)


def test_call_oversized_message_or_unknown_method_is_refused(site: Site) -> None:
    for service, method in ((rpc.SERVICE, rpc.READY), (server_service.SERVICE, server_service.STATUS)):
        assert site.call(service, method, b" " * (Limits().message_bytes + 1)) == "RESOURCE_EXHAUSTED"
        assert site.call(service, "Shutdown", b"{}") == "UNIMPLEMENTED"


def test_keep_alive_of_former_members_is_ignored(site: Site) -> None:
    """Calls with a wrong tag or worker number do not extend the lease either."""
    name = "leased"
    former = site.controller.admit(JobRequest(name, ("w1", "w2"), slots=8, lease_s=LEASE_S)).tickets[1]
    site.controller.join(name, 0, Taken("other", "somewhere"))
    for claimant in ("first", "second"):  # the job has started, so the second claim starts a new incarnation
        site.controller.join(name, 1, Taken(claimant, "somewhere"))
    ticket = site.controller.job(name).tickets[1]
    assert ticket.tag != former.tag
    invalid = [
        {"job": former.job, "tag": former.tag, "worker": 1},
        {"job": former.job, "tag": former.tag, "worker": 1, "claimant": "first"},
        {"job": ticket.job, "tag": ticket.tag ^ 1, "worker": 0},
        {"job": ticket.job, "tag": ticket.tag, "worker": 2},
        {"job": ticket.job, "tag": ticket.tag, "worker": -1},
        {"job": ticket.job, "tag": ticket.tag, "worker": 1, "claimant": "third"},
    ]
    for _ in range(3):
        site.now += LEASE_S / 4
        for message in invalid:
            for method in (rpc.KEEPALIVE, rpc.READY):
                assert site.call(rpc.SERVICE, method, json.dumps(message).encode()) == "OK"
    site.controller.expire()
    assert name in {job.request.name for job in site.controller.jobs()}
    site.now += LEASE_S / 4 + 1
    site.controller.expire()
    assert name not in {job.request.name for job in site.controller.jobs()}
