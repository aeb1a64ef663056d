# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The lease of a launch's job follows the process of the launch."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lanesum.errors import ConfigurationError
from lanesum.launch.launcher import renewed_lease
from lanesum.rpc import controller as rpc
from lanesum_control.controller.controller import Controller
from lanesum_control.controller.service import ControllerService
from lanesum_control.planner.network import Network
from lanesum_fabric.topology import load
from tests.control_plane.control_fakes import Site, request
from tests.waiting import wait_until

LEASE_S = 0.2  # by the clock of the site; by the machine's clock it is renewed every 50 ms


@pytest.fixture
def site() -> Site:
    found = Site()
    found.network = Network.of(load("star4"), loopback=True)
    return found


@pytest.fixture
def controller(site: Site) -> Iterator[Controller]:
    controller = site.start()
    yield controller
    controller.close()


def pass_renewed(site: Site, controller: Controller) -> None:
    """Let the lease almost end, three times, and wait until it was renewed."""
    for _ in range(3):
        site.clock.now += 0.9 * LEASE_S
        wait_until(lambda: (controller.expire() or 0.0) > 0.5 * LEASE_S)


def test_lease_ends_after_its_renewals(site: Site, controller: Controller) -> None:
    with ControllerService(controller, "127.0.0.1:0") as service:
        job = controller.admit(request("a", lease_s=LEASE_S)).number
        with renewed_lease(f"127.0.0.1:{service.port}", job, LEASE_S):
            pass_renewed(site, controller)
    site.clock.now += 1.1 * LEASE_S
    controller.expire()
    assert controller.jobs() == []


def test_renewals_survive_restart_of_controller(site: Site, controller: Controller) -> None:
    controller.admit(request("a", lease_s=LEASE_S))
    with ControllerService(controller, "127.0.0.1:0") as service:
        port = service.port
        with renewed_lease(f"127.0.0.1:{port}", 1, LEASE_S):
            pass_renewed(site, controller)
            service.close()
            time.sleep(LEASE_S)  # some renewals fail
            with ControllerService(controller, f"127.0.0.1:{port}"):
                pass_renewed(site, controller)


@pytest.mark.long
def test_killed_launch_returns_its_slots(
    site: Site, controller: Controller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its script has not joined the job yet, and takes longer than the lease."""
    script = tmp_path / "slow.py"
    script.write_text("import time\ntime.sleep(1000)")
    monkeypatch.setenv("LANESUM_LEASE", str(LEASE_S))
    with ControllerService(controller, "127.0.0.1:0") as service:
        options = [f"--controller=127.0.0.1:{service.port}", "--job=a", script]
        launch = subprocess.Popen([sys.executable, "-m", "lanesum.cli", "launch", *options])
        try:
            wait_until(lambda: controller.jobs() or launch.poll() is not None)
            assert controller.jobs()
            pass_renewed(site, controller)
        finally:
            launch.send_signal(signal.SIGKILL)
            launch.wait()
        site.clock.now += 1.1 * LEASE_S
        controller.expire()
        assert controller.jobs() == []


def test_lease_of_environment_is_validated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANESUM_LEASE", raising=False)
    assert rpc.lease() == {}
    monkeypatch.setenv("LANESUM_LEASE", "30")
    assert rpc.lease() == {"lease_s": 30.0}
    monkeypatch.setenv("LANESUM_LEASE", "soon")
    with pytest.raises(ConfigurationError, match="Invalid LANESUM_LEASE='soon': expected a number of seconds from 0"):
        rpc.lease()
