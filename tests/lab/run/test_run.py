# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum run`` as a user starts it, and as a user ends it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from lanesum import environment
from lanesum_fabric.topology.files import available
from tests.lab.run.trainings import command, interfaces, needs_bmv2, needs_mininet, path_without_bmv2, start, train


def test_loopback_with_two_workers_and_fixed_point(tmp_path: Path) -> None:
    report = train(tmp_path, "--topology", "loopback", "--workers", "2", "--codec", "fixed")
    assert (report["target"], report["workers"], report["codec"]) == ("embedded switch on loopback", 2, "fixed")
    counts = report["detail"]["switch_packets"]
    # Every chunk is claimed once and completed once, also after retransmissions. On a busy machine, some of those that
    # a switch has claimed are completed by the server.
    assert counts["claim"] >= counts["contribute_and_complete"] > 0
    assert counts["claim"] == counts["contribute_and_complete"] or report["detail"]["completed"]["server"] > 0
    assert counts["contribute"] == 0


@pytest.mark.long
@pytest.mark.parametrize("threads", ["2", "3"])
def test_workers_of_several_threads_train_through_switch(
    threads: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On loopback the switch has sockets with the workers' addresses."""
    monkeypatch.setenv(environment.TRANSPORT_THREADS, threads)
    report = train(tmp_path, "--topology", "loopback", "--codec", "fixed")
    assert (report["workers"], report["sums_wrong"]) == (4, 0)
    assert report["detail"]["switch_packets"]["contribute_and_complete"] > 0


@pytest.mark.long
def test_without_a_switch_the_server_sums(tmp_path: Path) -> None:
    report = train(tmp_path, "--switch", "none", "--workers", "3")
    assert (report["target"], report["workers"]) == ("aggregation server, no switch, on loopback", 3)
    counts = report["detail"]["switch_packets"]
    assert counts["claim"] == counts["contribute"] == counts["contribute_and_complete"] > 0


@pytest.mark.long
def test_tofino_program_sums_a_training(tmp_path: Path) -> None:
    """THC works without lookup tables on the chip. The conformance suite covers the other profiles."""
    report = train(tmp_path, "--topology", "loopback", "--switch", "tofino2-w256", "--workers", "2")
    assert (report["target"], report["codec"]) == ("embedded switch with tofino2-w256 on loopback", "thc")
    counts = report["detail"]["switch_packets"]
    assert counts["contribute_and_complete"] > 0
    assert counts["refuse_op"] == counts["route_other_size"] == 0, "nothing was left to the server"


@pytest.mark.long
def test_four_workers_reach_the_uncompressed_accuracy(tmp_path: Path) -> None:
    """Run the job of ``make run``: 4-bit THC, ten epochs."""
    report = train(tmp_path, "--topology", "loopback", "--epochs", "10")
    assert (report["workers"], report["codec"], report["steps"]) == (4, "thc", 110)
    assert report["accuracy_uncompressed"] > 0.95
    assert report["accuracy"] >= report["accuracy_uncompressed"] - 0.01
    assert report["loss_last"] < 0.1 * report["loss_first"]
    assert report["detail"]["replicas_identical"]
    # The number of retransmissions depends on the load of the machine.
    once = 1 - report["retransmissions"] / report["packets"]
    assert once * report["bytes_up"] < report["bytes_fp32"] / 5


@pytest.mark.long
@pytest.mark.parametrize("topology", sorted(available()))
@pytest.mark.parametrize(
    ("runner", "switch", "target"),
    [
        ("loopback", "embedded", "embedded switch on loopback"),
        pytest.param("mininet", "embedded", "embedded switch on mininet", marks=needs_mininet),
        pytest.param("mininet", "bmv2", "simple_switch_grpc (BMv2) on mininet", marks=[needs_mininet, needs_bmv2]),
    ],
)
def test_every_shipped_topology_trains(topology: str, runner: str, switch: str, target: str, tmp_path: Path) -> None:
    """Switches of ``twojobs`` have names without a digit."""
    report = train(tmp_path, "--topology", topology, "--runner", runner, "--switch", switch)
    assert report["target"] == target
    assert report["detail"]["switch_packets"]["contribute_and_complete"] > 0


@pytest.mark.long
@needs_mininet
def test_mininet_limits_the_links_of_both_trainings(tmp_path: Path) -> None:
    """20 Mbit/s, where HTB's default quantum has a warning."""
    started = start(tmp_path, "--topology", "mininet", "--switch", "embedded", "--rate", "20", "--epochs", "3")
    assert started.returncode == 0, started.stdout + started.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    detail = report["detail"]
    for seconds, wire in (
        (report["wall_s"], detail["wire_bytes"]),
        (detail["wall_s_uncompressed"], detail["wire_bytes_uncompressed"]),
    ):
        # A worker's mean rate; frames leave once they are in a queue, so the end of a training has some left.
        assert 8 * wire["sent"] / report["workers"] < 20e6 * seconds
        assert wire["received"] > 0
    # The number of retransmissions depends on the load of the machine.
    once = 1 - report["retransmissions"] / report["packets"]
    assert once * detail["wire_bytes"]["sent"] < detail["wire_bytes_uncompressed"]["sent"] / 4
    assert (report["sums_wrong"], detail["link_mbit"]) == (0, 20)
    assert "20 Mbit/s in each direction" in started.stdout
    for word in ("Error", "Warning", "quantum"):
        assert word not in started.stdout + started.stderr


@contextlib.contextmanager
def training(out: Path, runner: str) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """Start a run of two workers; return it with all its processes after the first test."""
    process = subprocess.Popen(
        command(out, "--topology", runner, "--workers", "2", "--epochs", "200", "--deadline", "3600"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PATH": path_without_bmv2()},
    )
    try:
        yield process, first_test(process)
    finally:
        process.kill()
        process.communicate()


def first_test(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Wait for it; returns the processes that are there by then."""
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if ": step " in line:
            descendants = psutil.Process(process.pid).children(recursive=True)
            assert len(descendants) >= 5  # switch, server, controller and two workers
            return descendants
    raise AssertionError(f"no training: {''.join(seen)}")


@pytest.mark.long
@pytest.mark.parametrize(
    "runner", ["loopback", pytest.param("mininet", marks=needs_mininet)], ids=["loopback", "mininet"]
)
def test_ctrl_c_leaves_nothing_behind(tmp_path: Path, runner: str) -> None:
    before = interfaces()
    with training(tmp_path, runner) as (process, descendants):
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=250)[0]
        assert process.returncode == 130, output
        assert "interrupted" in output
        assert "Traceback" not in output
        _, alive = psutil.wait_procs(descendants, timeout=120)
        assert not alive
    assert interfaces() == before
    assert not (tmp_path / "report.json").exists()


@pytest.mark.long
def test_killed_supervisor_leaves_no_process(tmp_path: Path) -> None:
    with training(tmp_path, "loopback") as (process, descendants):
        process.kill()
        _, alive = psutil.wait_procs(descendants, timeout=120)
        assert not alive


@pytest.mark.long
def test_ended_switch_fails_the_run_with_its_log(tmp_path: Path) -> None:
    with training(tmp_path, "loopback") as (process, descendants):
        (switch,) = [child for child in descendants if "lanesum.cli switch" in " ".join(child.cmdline())]
        switch.kill()
        output = process.communicate(timeout=250)[0]
        assert process.returncode not in (0, None)
        assert "s1 was ended by SIGKILL" in output
        assert str(tmp_path / "logs" / "s1.log") in output.replace("\n", "")
