# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A partition of the network between all controllers, their database and the workers, while a job runs."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import numpy as np
import pytest

from lanesum.rpc import controller as rpc
from lanesum.server.service import serve
from lanesum_control.state.leadership import Leadership
from lanesum_control.state.postgresql import PostgresqlUrl
from lanesum_fabric.topology.files import parse
from lanesum_switch.ports.runner import PortRunner
from lanesum_switch.ports.topology import loopback_ports
from tests.command_line import invoke
from tests.control_plane.postgresql_server import PostgresqlServer
from tests.control_plane.protocols import P4RUNTIME
from tests.control_plane.state.relay import Relay
from tests.control_plane.state.test_state_standby import cut_off
from tests.control_plane.state.test_state_take_over import SIZE, WORKERS, Parts, Workers
from tests.waiting import wait_until

LEASE_S, JOB_LEASE_S = 6.0, 1.0


def refusal(controller: str) -> str:
    """Return why a controller refuses a call; empty if it answers."""
    try:
        rpc.call(controller, rpc.JOBS, {}, connect_s=0.5)
    except rpc.UnreachableError as error:
        return str(error)
    return ""


def test_standby_without_its_database_says_so(database: PostgresqlUrl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanesum_control.state.postgresql._RETRY_S", 0.0)
    with Leadership(database, "first", lease_s=3600.0) as first, Leadership(database, "second") as second:
        assert first.take() and not second.take()
        assert second.refusal() == "It is a standby; the controller first leads."
        with cut_off(second, database):
            assert not second.take()
            assert second.refusal().startswith(
                "It is a standby; the controller first led when it last saw the state. Cannot use the state in"
            )
        assert not second.take() and second.refusal() == "It is a standby; the controller first leads."


def test_partition_of_all_controllers_removes_no_live_job(
    postgresql: PostgresqlServer, database: PostgresqlUrl, tmp_path: Path
) -> None:
    url = PostgresqlUrl.parse(database.url.replace(str(postgresql.folder), str(tmp_path)))
    parts = Parts(tmp_path, url, P4RUNTIME, lease_s=LEASE_S, grace_s=0.0)
    direct = [f"unix:{tmp_path}/{name}" for name in parts.names]
    star, device = parse(parts.topology.read_text(), "star"), P4RUNTIME.switch()
    with (
        P4RUNTIME.server(device, f"unix:{tmp_path}/switch"),
        PortRunner(device, loopback_ports(star, "s1", None)),
        serve(star.server_backend("server", loopback=True), f"unix:{tmp_path}/server"),
        Relay(tmp_path / ".s.PGSQL.5432", postgresql.folder / ".s.PGSQL.5432") as state,
        contextlib.ExitStack() as stack,
    ):
        paths = [stack.enter_context(Relay(tmp_path / f"{name}-net", tmp_path / name)) for name in parts.names]
        parts.addresses = ",".join(f"unix:{tmp_path}/{name}-net" for name in parts.names)
        first = stack.enter_context(parts.controller("first"))
        wait_until(lambda: not refusal(direct[0]))
        stack.enter_context(parts.controller("second"))
        parts.admit(lease_s=JOB_LEASE_S)
        numbers = parts.numbers()
        with Workers(parts.addresses) as workers:
            wait_until(lambda: parts.states() == ["alive"] * WORKERS)
            for path in paths:
                path.cut(ends=True)
            state.cut()

            # Both give up, each says why, and the job's lease ends many times meanwhile.
            wait_until(lambda: "Cannot use the state" in refusal(direct[0]) and "Cannot" in refusal(direct[1]))
            why = f"It does not lead any more: it has not renewed its lease for {LEASE_S:g} s. Cannot use the state in "
            assert why in refusal(direct[0])
            assert "It is a standby; the controller at " in refusal(direct[1])
            for order in (direct, direct[::-1]):
                assert "Cannot use the state in postgresql://" in refusal(",".join(order))
            listed = invoke(["job", "list", "--controller", ",".join(direct)])
            assert listed.exit_code == 1 and "Cannot use the state in postgresql://" in listed.output
            time.sleep(3 * JOB_LEASE_S)
            workers.go_on()

            # A controller leads before the workers can call it.
            state.mend()
            deadline = time.monotonic() + 3 * JOB_LEASE_S
            while time.monotonic() < deadline:
                assert set(rpc.jobs_by_name(",".join(direct))) == {"a"}
            for path in paths:
                path.mend()
            wait_until(lambda: parts.states() == ["alive"] * WORKERS)
            workers.go_on()
            assert parts.numbers() == numbers
            assert not [event for event in parts.events() if "removed" in event]
            # The earlier leader leads again, or it has ended because the other one was faster.
            assert first.poll() == (None if "controller: leads with term 2" not in parts.events() else 1)
        assert not workers.errors and len(workers.sums) == 1
        exact = np.arange(SIZE, dtype=np.float32) * sum(range(1, WORKERS + 1))
        np.testing.assert_allclose(np.frombuffer(workers.sums.pop(), np.float32), exact, atol=1e-3 * exact.max())
