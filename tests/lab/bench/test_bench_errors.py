# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of benchmarks that cannot measure, or that measured a wrong sum."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from lanesum.errors import ConfigurationError, MissingToolError
from lanesum_lab.bench import (
    codec,
    datagrams,
    devices,
    learning,
    pictures,
    places,
    sites,
    sparse,
    step,
    switch,
    tta,
)
from lanesum_lab.bench.figures import BenchError
from lanesum_lab.bench.pingers import Pinger
from lanesum_lab.bench.reducer import Phases, Reduced, Reduction
from lanesum_lab.bench.workers import Measured, ReducingWorkers, Wire
from lanesum_lab.cli import bench as commands


@pytest.mark.parametrize(
    ("run", "purpose"),
    [
        (lambda: learning.run(learning.QUICK), "Training"),
        (lambda: sites.run(sites.QUICK), "Training"),
        (lambda: step.run(step.QUICK), "Training"),
        (lambda: tta.run(tta.QUICK), "Training"),
        (lambda: devices.device("cuda"), "--device cuda"),
    ],
)
def test_benchmark_without_pytorch_names_its_purpose(
    run: Callable[[], object], purpose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(MissingToolError, match=rf"{purpose} needs PyTorch, which is not installed\. Run: pip install"):
        run()


def test_picture_without_matplotlib_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with (
        pytest.raises(MissingToolError, match=r"Pictures need matplotlib\. Run: pip install matplotlib"),
        pictures._figure(Path("none.png"), 1, "title", {}, width=4),
    ):
        pass


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: commands.main(["nmse", "--values=17"]), r"--values 17 is not a multiple of 16\. 16 layers share them"),
        (
            lambda: commands.main(["nmse", "--workers=4,0"]),
            "--workers: '0' is no positive number. Write for example 1k,25M",
        ),
        (
            lambda: commands.main(["allreduce", "--values=1k,x"]),
            "--values: 'x' is no positive number. Write for example 1k,25M",
        ),
        (
            lambda: commands.main(["codec", "--values=5000"]),
            "--values 5000 is not a multiple of 4096. PyTorch's version takes whole",
        ),
        (
            lambda: codec.CodecSettings(parts=("space",)),
            r"Unknown parts=\('space',\): expected some of speed, comparison",
        ),
    ],
)
def test_settings_of_codecs_that_cannot_be_are_refused(run: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        run()


def reduced(digest: str) -> Reduced:
    return Reduced(0.0, 1.0, 0.1, Phases(), 1, 0, digest, error=0.0)


def test_different_sums_of_the_workers_are_an_error() -> None:
    workers = object.__new__(ReducingWorkers)
    answers = {"worker-w1": reduced("a"), "worker-w2": reduced("b")}
    workers._workers, workers._sites = list(answers), {}
    workers._agents = SimpleNamespace(ask=lambda tasks: {agent: answers[agent] for agent in tasks})  # type: ignore[assignment]
    workers._place = SimpleNamespace(wire=lambda: Wire(0, 0))  # type: ignore[assignment]
    with pytest.raises(BenchError, match="The workers have different sums of 8 values by fixed hub"):
        workers.measure(Reduction("fixed hub", 8, 1))


def test_sparse_sum_that_differs_between_runs_raises() -> None:
    digests = iter("aaaaab")  # each method once, and the first one again

    def measure(reduction: Reduction) -> Measured:
        return Measured(reduction, (reduced(next(digests)),), 1.0, 0.1, Wire(0, 0))

    settings = dataclasses.replace(sparse.QUICK, sparsities=(0.9,), overlaps=(0.0,), repeats=1)
    with pytest.raises(BenchError, match=r"The sum of .* values by .* differs between runs"):
        list(sparse._measure(settings, SimpleNamespace(measure=measure), 2, 10.0))  # type: ignore[arg-type]


def test_wrong_small_sum_is_an_error() -> None:
    pinger = object.__new__(Pinger)
    session = SimpleNamespace(ticket=SimpleNamespace(workers=2), all_reduce=lambda values: 3 * values)
    pinger._session = session  # type: ignore[assignment]
    with pytest.raises(BenchError, match="An all-reduce of small vectors has a wrong sum"):
        pinger.all_reduces(8, 1)


def test_result_that_does_not_come_back_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "_RESULT_TIMEOUT_S", 0.01)
    workload = SimpleNamespace(frames=[(1, b"first"), (1, b"second")], workers=1, chunks=2)
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with near, far, pytest.raises(BenchError, match="s1 lost a packet: 0 of 2 results came back"):
        switch._windowed("s1", workload, {1: near})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 1", "iperf3 could not be run at 2 ports from"),
        ("echo '{}'", "iperf3 received no datagram"),
    ],
)
def test_iperf3_without_a_figure_is_an_error(
    script: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "iperf3"
    end = {"sum": {"packets": 5, "lost_packets": 5, "seconds": 1.0}, "cpu_utilization_percent": {}}
    program.write_text(f"#!/bin/sh\n{script.format(json.dumps({'end': end}))}\n")
    program.chmod(0o755)
    monkeypatch.setattr(datagrams, "IPERF3", str(program))
    monkeypatch.setattr(datagrams, "_TRIES", 2)
    monkeypatch.setattr(datagrams, "_TRY_S", 0.0)
    with pytest.raises(BenchError, match=f"{message}.*Run iperf3 -s and iperf3 -u"):
        datagrams.iperf3(64, 0.0)


def test_taken_loopback_addresses_are_an_error() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(BenchError, match=r"No block of loopback addresses is free .*Stop other benchmarks"):
            places.free_block(lambda _block: taken.getsockname())
