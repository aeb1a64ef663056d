# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Probes of the path MTU through a router in network namespaces, whose links have MTUs of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from lanesum.transport import JobTicket, echo, path_check
from lanesum_lab.veth import obstacle
from tests.stepped_process import go_on, line

WORKER, ROUTER, SERVER = names = tuple(f"lanesum-mtu-{end}" for end in ("w", "r", "s"))
MEASURE = """
import json
from lanesum.transport.path_check import largest_words, measured_mtu
mtu = measured_mtu("10.9.1.1", ("10.9.2.2", 19539))
print(json.dumps([mtu, largest_words(mtu)]))
"""


def ip(*words: str | int) -> None:
    subprocess.run(["ip", *map(str, words)], check=True)


def within(name: str, *words: str | int) -> None:
    ip("-n", name, *words)


@pytest.fixture
def path() -> Iterator[None]:
    if obstacle():
        pytest.skip(obstacle())
    try:
        for name in names:
            ip("netns", "add", name)
        for number, (end, host) in enumerate(((WORKER, "10.9.1.1"), (SERVER, "10.9.2.2")), start=1):
            gateway = f"10.9.{number}.9"
            ip("-n", end, "link", "add", "eth0", "type", "veth", "peer", f"port{number}", "netns", ROUTER)
            within(end, "addr", "add", f"{host}/24", "dev", "eth0")
            within(ROUTER, "addr", "add", f"{gateway}/24", "dev", f"port{number}")
            for name, device in ((end, "eth0"), (ROUTER, f"port{number}")):
                within(name, "link", "set", device, "mtu", 9000, "up")
            within(end, "route", "add", "default", "via", gateway)
        subprocess.run(["ip", "netns", "exec", ROUTER, "sysctl", "-qw", "net.ipv4.ip_forward=1"], check=True)
        yield
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False, stderr=subprocess.DEVNULL)


def measured(mtus: dict[tuple[str, str], int]) -> tuple[int, int]:
    for (name, device), mtu in mtus.items():
        within(name, "link", "set", device, "mtu", mtu)
    command = ["ip", "netns", "exec", WORKER, sys.executable, "-c", MEASURE]
    mtu, words = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return mtu, words


@pytest.mark.usefixtures("path")
def test_measured_mtu_is_that_of_narrowest_link() -> None:
    assert measured({}) == (9000, 2232)
    # Jumbo frames at the worker alone: the server drops them without a message, as a switch would.
    assert measured({(SERVER, "eth0"): 1500, (ROUTER, "port2"): 1500}) == (1500, 360)
    assert measured({(SERVER, "eth0"): 1500, (ROUTER, "port2"): 9000}) == (1500, 360)
    # A tunnel on the way.
    assert measured({(SERVER, "eth0"): 9000, (ROUTER, "port2"): 1420}) == (1420, 336)
    # An own interface with a size that no list has.
    assert measured({(WORKER, "eth0"): 1300, (ROUTER, "port2"): 9000}) == (1300, 304)


@pytest.mark.usefixtures("path")
def test_measured_mtu_without_answers_is_no_jumbo_frame() -> None:
    subprocess.run(["ip", "netns", "exec", SERVER, "sysctl", "-qw", "net.ipv4.icmp_echo_ignore_all=1"], check=True)
    assert measured({}) == (1500, 360)
    assert measured({(WORKER, "eth0"): 1400}) == (1400, 328)


def test_measured_mtu_without_right_to_probe_is_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(path_check, "path_mtu", lambda *_: 1450)
    monkeypatch.setattr(echo, "carried_bytes", refuse)
    assert path_check.measured_mtu("10.0.0.1", ("10.0.0.2", 1)) == 1450


def test_measured_mtu_on_own_host_is_unknown() -> None:
    assert path_check.measured_mtu("127.0.0.1", ("127.0.0.2", 1)) is None
    assert path_check.measured_mtu("10.0.0.1", ("10.0.0.1", 1)) is None


SERVE = """
import sys
from lanesum.server import AggregationServer, ServerJob
from lanesum.transport import JobTicket
with AggregationServer(("10.9.2.2", 19539)) as server:
    server.admit(ServerJob.from_tickets([JobTicket.from_json(sys.argv[1])]))
    print("ready", flush=True)
    sys.stdin.read()
"""
WORK = """
import sys
import numpy as np
from lanesum.errors import LanesumError
from lanesum.session import Session
from lanesum.transport import JobTicket
with Session(JobTicket.from_json(sys.argv[1]), codec="fixed", deadline_s=float(sys.argv[2])) as session:
    for _ in range(3):
        try:
            print(session.all_reduce(np.full(50_000, 3, np.float32)).sum(), flush=True)
        except LanesumError as error:
            print(error, flush=True)
            break
        sys.stdin.readline()
"""


@pytest.mark.usefixtures("path")
def test_path_whose_mtu_shrinks_is_exact_or_named() -> None:
    """A router fragments for a smaller MTU behind it. A black hole drops large packets without a message."""
    fields = {"job": 1, "tag": 7, "worker": 0, "workers": 1, "slots": 64, "accumulator_words": 2232}
    ticket = JobTicket(**fields, servers=(("10.9.2.2", 19539),), local=("10.9.1.1", 19539)).to_json()

    def start(name: str, *command: str) -> subprocess.Popen[str]:
        words = ["ip", "netns", "exec", name, sys.executable, "-c", *command]
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    with start(SERVER, SERVE, ticket) as server:
        assert line(server) == "ready"
        with start(WORKER, WORK, ticket, "5") as worker:
            assert float(line(worker)) == 150_000
            within(SERVER, "link", "set", "eth0", "mtu", 1500)
            within(ROUTER, "link", "set", "port2", "mtu", 1500)
            go_on(worker)
            assert float(line(worker)) == 150_000
            within(ROUTER, "link", "set", "port2", "mtu", 9000)
            go_on(worker)
            refused = line(worker)
        server.kill()
    assert "no progress for 5 s at worker 0" in refused
    assert "it has to carry packets of 8,988 bytes (lanesum doctor --controller)" in refused
