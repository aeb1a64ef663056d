# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A switch process that is killed and starts again empty, over both protocols, while a job is in progress."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lanesum import codecs
from lanesum.cli.signals import READY
from lanesum_control.controller.controller import JobRequest
from lanesum_control.controller.monitor import Monitor
from lanesum_control.switches.bfruntime.connection import BfRuntimeConnection
from lanesum_control.switches.managed import RemoteSwitch
from lanesum_control.switches.reconcile import everything
from lanesum_fabric.bfruntime.description import Description
from lanesum_fabric.bfruntime.ports import PortSettings, PortTable
from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_fabric.topology.files import parse
from lanesum_switch.bfruntime.fixed_tables import DESCRIPTION
from lanesum_switch.faults.links import LinkFaults
from lanesum_switch.faults.plan import FaultPlan
from tests.control_plane.control_fakes import what
from tests.control_plane.protocols import BF_RUNTIME, P4RUNTIME, PROTOCOLS, Protocol
from tests.control_plane.sites import HOSTS, Site, assert_exact, controlling, star_text
from tests.waiting import wait_until

STAR = star_text("10.95.")
# The switch drops the values of worker 2 in the second sum. So it holds partial sums until it is killed.
FAULTS = "rules: [{kind: drop, where: w3, direction: up, packet: contribution, epoch: 3, name: held}]\n"
CODEC = codecs.get("fixed", workers=len(HOSTS))
DEADLINE_S = 120.0  # of workers that wait for a switch whose start is slow


@contextlib.contextmanager
def running_switch(folder: Path, protocol: Protocol, *options: str, star: str = STAR) -> Iterator[None]:
    """Run ``lanesum switch`` on loopback, at ``unix:FOLDER/switch``. It ends by SIGKILL."""
    (folder / "star.yaml").write_text(star)
    command = [sys.executable, "-m", "lanesum.cli", "switch", f"--topology={folder}/star.yaml", "--loopback", *options]
    command += ["--tofino", "--bfruntime"] if protocol is BF_RUNTIME else ["--p4runtime"]
    with subprocess.Popen([*command, f"unix:{folder}/switch"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline().startswith(READY)
            yield
        finally:
            process.kill()


def contents(remote: RemoteSwitch) -> tuple[list[str], list[str]]:
    """Return entries and groups, and the ports, which only BF Runtime has."""
    connection, ports = remote.device.connection, []
    if isinstance(connection, BfRuntimeConnection):
        ports = connection._read_tables([PortTable(Description(DESCRIPTION)).id])
    return sorted(map(str, connection.read(everything(remote.device)))), sorted(map(str, ports))


def summed(site: Site) -> tuple[int, int]:
    """Return the number of entries that the switch has claimed since its start, and of sums that it has completed."""
    decided = site.controller.counters()["switches"]["s1"]
    return decided["claim"], decided["contribute_and_complete"]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=str)
def test_killed_switch_is_repaired_with_exact_sums(protocol: Protocol, tmp_path: Path) -> None:
    pipeline, star = protocol.pipeline(), parse(STAR, "star")
    settings = PortSettings.parse("100G:rs") if protocol is BF_RUNTIME else None
    remote = RemoteSwitch(f"{protocol.prefix}unix:{tmp_path}/switch", pipeline, ports=settings)
    (tmp_path / "plan.yaml").write_text(FAULTS)
    faults = LinkFaults(FaultPlan.parse(FAULTS, "plan"), tmp_path / "counts")

    def holds_partial_sums() -> bool:
        claimed, completed = summed(site)
        return faults.totals(["w3"])[0]["held"].hit > 0 and claimed > completed > 0

    with contextlib.ExitStack() as cleanup:
        with running_switch(tmp_path, protocol, f"--faults={tmp_path}/plan.yaml", f"--fault-counts={tmp_path}/counts"):
            site = cleanup.enter_context(controlling(star, remote, pipeline.accumulator_words))
            cleanup.enter_context(Monitor(site.controller))
            job = site.controller.admit(JobRequest("a", HOSTS, slots=8))
            before = contents(remote)
            sums = cleanup.enter_context(ThreadPoolExecutor(1)).submit(site.reduce, job, CODEC, 3, DEADLINE_S)
            wait_until(holds_partial_sums)
        assert not sums.done()
        cleanup.enter_context(running_switch(tmp_path, protocol))
        wait_until(lambda: sum("program pushed" in text for text in what(site.controller, "s1")) >= 2)
        after = contents(remote)
        assert_exact(*sums.result())
        assert after == before
        assert [len(one) > 0 for one in after] == [True, protocol is BF_RUNTIME]
        site.controller.remove("a")
        completed = summed(site)[1]
        assert_exact(*site.reduce(site.controller.admit(JobRequest("b", HOSTS, slots=8)), CODEC, 1, DEADLINE_S))
        assert summed(site)[1] > completed


def test_switch_without_a_port_refuses_its_jobs(tmp_path: Path) -> None:
    star = parse(STAR, "star")
    remote = RemoteSwitch(f"unix:{tmp_path}/switch", bmv2_pipeline(64))
    without = "\n".join(line for line in STAR.splitlines() if "w3" not in line)
    with running_switch(tmp_path, P4RUNTIME, star=without), controlling(star, remote, 64) as site:
        refused = site.controller.admit(JobRequest("a", HOSTS, slots=8, quota=0))
        assert "Multicast group 1 has port 3, which the switch lacks" in refused.left_out["s1"]
        assert "the switch lacks" in what(site.controller, "s1")[-1]
        site.controller.remove("a")
        assert not site.controller.admit(JobRequest("b", HOSTS[:2], slots=8)).left_out
