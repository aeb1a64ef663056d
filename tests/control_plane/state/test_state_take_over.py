# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Take-over by a standby, of a controller that is killed or frozen while a job runs through a switch."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanesum.cli.signals import READY
from lanesum.joining import join
from lanesum.rpc import controller as rpc
from lanesum.server.service import serve
from lanesum.session import Session
from lanesum_control.state.leadership import Leadership
from lanesum_control.state.postgresql import PostgresqlUrl
from lanesum_fabric.topology import available
from lanesum_fabric.topology.files import parse
from lanesum_switch.ports.runner import PortRunner
from lanesum_switch.ports.topology import loopback_ports
from tests.control_plane.protocols import BF_RUNTIME, PROTOCOLS, Protocol
from tests.control_plane.state.test_state_standby import rows

WORKERS, SIZE = 3, 200
# The second one if the switch sees the end of the leader's session only after another one begins.
SAME_ENTRIES = {"s1: connected: no differences", "s1: mastership won back: no differences"}
PAUSE_S = 0.1  # between rounds, which cost processor time
# The command line of ``lanesum``, with another lease and grace: a busy machine may stop a leader for several seconds.
TIMED = (
    "import sys; from lanesum.cli.app import main; from lanesum_control.state.leadership import Leadership; "
    "from lanesum_control.controller import controller; controller._TAKE_OVER_GRACE_S = {grace_s}; "
    "Leadership.__init__.__kwdefaults__['lease_s'] = {lease_s}; sys.exit(main())"
)


class Parts:
    """Switch and server in this process, and controllers in processes of their own, which they outlive."""

    def __init__(
        self, folder: Path, url: PostgresqlUrl, protocol: Protocol, *, lease_s: float = 20.0, grace_s: float = 30.0
    ) -> None:
        self._folder, self._url = folder, url
        self._main = TIMED.format(lease_s=lease_s, grace_s=grace_s)
        self._switch = f"--switch={protocol.prefix}unix:{folder}/switch"
        self._program = ["--tofino=tofino1-w32"] if protocol is BF_RUNTIME else []
        self.topology = folder / "star.yaml"
        self.topology.write_text(available()["star4"].read_text().replace("10.19.", "10.57."))
        self.names = ("first", "second")
        self.addresses = ",".join(f"unix:{folder}/{name}" for name in self.names)

    @contextlib.contextmanager
    def controller(self, name: str) -> Iterator[subprocess.Popen[str]]:
        """Start a controller, which is a standby first."""
        command = [sys.executable, "-c", self._main, "controller", f"--topology={self.topology}", "--loopback"]
        command += [*self._program, self._switch, f"--server=unix:{self._folder}/server"]
        command += [f"--listen=unix:{self._folder}/{name}", f"--state={self._url.url}"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == f"{READY} standby controller at unix:{self._folder}/{name}\n"
            yield process
        finally:
            process.kill()
            process.communicate()

    def call(self, method: str, message: dict[str, Any]) -> dict[str, Any]:
        """Call the controller that leads, once there is one."""
        return rpc.call(self.addresses, method, message, 120.0)

    def numbers(self) -> dict[str, int]:
        return {job["name"]: job["job"] for job in self.call(rpc.JOBS, {})["jobs"]}

    def events(self) -> list[str]:
        return [f"{event['whom']}: {event['what']}" for event in self.call(rpc.EVENTS, {"since": 0})["events"]]

    def states(self) -> list[str]:
        """Return the states of the workers of job ``a``."""
        return [one["state"] for one in self.call(rpc.LIVE, {"job": "a"})["jobs"][0]["figures"]]

    def admit(self, **fields: Any) -> None:
        hosts = [f"w{number + 1}" for number in range(WORKERS)]
        self.call(rpc.ADMIT, {"name": "a", "workers": hosts, "codec": "fixed", **fields})


@pytest.fixture(params=PROTOCOLS, ids=str)
def protocol(request: pytest.FixtureRequest) -> Protocol:
    found: Protocol = request.param
    return found


@pytest.fixture
def parts(tmp_path: Path, database: PostgresqlUrl, protocol: Protocol) -> Iterator[Parts]:
    made = Parts(tmp_path, database, protocol)
    star, device = parse(made.topology.read_text(), "star"), protocol.switch()
    with (
        protocol.server(device, f"unix:{tmp_path}/switch"),
        PortRunner(device, loopback_ports(star, "s1", None)),
        serve(star.server_backend("server", loopback=True), f"unix:{tmp_path}/server"),
    ):
        yield made


class Workers:
    """Workers of job ``a``, which add the same vectors until ``stop``, and compare each sum with the first one."""

    def __init__(self, controllers: str) -> None:
        self._controllers = controllers
        self._stopping = threading.Event()
        self._changed = threading.Condition()
        self.rounds = [0] * WORKERS
        self.sums: set[bytes] = set()
        self.errors: list[BaseException] = []
        self._threads = [threading.Thread(target=self._run, args=(worker,)) for worker in range(WORKERS)]

    def __enter__(self) -> Workers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _run(self, worker: int) -> None:
        vector = np.arange(SIZE, dtype=np.float32) * (worker + 1)
        try:
            with Session(join(controller=self._controllers, job="a", worker=worker), codec="fixed") as session:
                more = True
                while more:
                    total = session.all_reduce(vector)
                    time.sleep(PAUSE_S)
                    # All workers stop after the same round.
                    flag = session.all_reduce(np.full(1, float(self._stopping.is_set()), np.float32))
                    more = float(flag[0]) == 0.0
                    with self._changed:
                        self.rounds[worker] += 1
                        self.sums.add(total.tobytes())
                        self._changed.notify_all()
        except BaseException as error:
            with self._changed:
                self.errors.append(error)
                self._changed.notify_all()

    def go_on(self, rounds: int = 3) -> None:
        """Wait until every worker has completed more rounds."""
        with self._changed:
            wanted = [count + rounds for count in self.rounds]
            while any(have < want for have, want in zip(self.rounds, wanted, strict=True)):
                assert not self.errors, self.errors
                self._changed.wait()


def freeze_leader(database: PostgresqlUrl, leader: subprocess.Popen[str], workers: Workers) -> None:
    """Freeze the leader of term 2, lead in its place, and check that it ends when it continues."""
    before = rows(database)
    leader.send_signal(signal.SIGSTOP)
    with Leadership(database, "the test") as third:
        assert third.wait() == 3
        workers.go_on()
        leader.send_signal(signal.SIGCONT)
        _, errors = leader.communicate()
        assert leader.returncode == 1 and "another controller leads than that of term 2" in errors
        assert rows(database) == before
    workers.go_on()


def test_standby_takes_over_from_killed_and_frozen_leader(
    parts: Parts, database: PostgresqlUrl, protocol: Protocol
) -> None:
    with parts.controller("first") as first:
        assert parts.numbers() == {}
        with parts.controller("second") as second:
            parts.admit()
            with Workers(parts.addresses) as workers:
                workers.go_on()
                before, numbers = rows(database), parts.numbers()

                first.kill()
                assert parts.numbers() == numbers
                workers.go_on()
                assert rows(database) == before
                while SAME_ENTRIES.isdisjoint(events := parts.events()):
                    time.sleep(0.05)
                assert events.index("controller: leads with term 1") < events.index("controller: leads with term 2")
                while parts.states() != ["alive"] * WORKERS:
                    time.sleep(0.05)
                if protocol is not BF_RUNTIME:  # its agent keeps the session of a frozen controller
                    freeze_leader(database, second, workers)
            assert not workers.errors and len(workers.sums) == 1
            (total,) = workers.sums
            exact = np.arange(SIZE, dtype=np.float32) * sum(range(1, WORKERS + 1))
            np.testing.assert_allclose(np.frombuffer(total, np.float32), exact, atol=1e-3 * exact.max())
