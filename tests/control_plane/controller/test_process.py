# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The controller as a process with a hundred switches, ten of them without an answer."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lanesum.cli.signals import READY
from lanesum_fabric.topology import TopologyBuilder
from tests.control_plane import answering_switches
from tests.free_ports import free_ports

SWITCHES, SILENT = 100, 10
DEADLINE_S = 120.0


@contextmanager
def started(*command: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.long
def test_second_start_with_hundred_switches_repairs_nothing(tmp_path: Path) -> None:
    topology, builder = tmp_path / "many.yaml", TopologyBuilder("many", addresses="10.20.0.0/16")
    builder.switch("s0")
    for number in range(1, SWITCHES):
        builder.switch(f"s{number}", at="s0")
        builder.worker(f"w{number}", at=f"s{number}")
    builder.server("server", at="s0")
    builder.controller("controller", at="s0")
    builder.write(topology)
    server, own = (f"127.0.0.1:{port}" for port in free_ports(2, socket.SOCK_STREAM))
    common = ("--topology", str(topology), "--loopback")
    with (
        started(str(answering_switches.__file__), str(tmp_path), str(SWITCHES), str(SILENT)) as switches,
        started("-m", "lanesum.cli", "server", *common, "--control", server) as aggregation,
    ):
        assert switches.stdout is not None and aggregation.stdout is not None
        assert switches.stdout.readline() == "ready\n" and READY in aggregation.stdout.readline()
        paths = [f"--switch=s{number}=unix:{tmp_path}/s{number}" for number in range(SWITCHES)]
        for repairs in ("program pushed", "no differences"):
            command = ("-m", "lanesum.cli", "controller", *common, "--server", server, "--listen", own, *paths)
            with started(*command) as controller:
                assert controller.stdout is not None
                lines = []
                for line in controller.stdout:
                    lines.append(line)
                    if line.startswith(READY):
                        break
                controller.send_signal(signal.SIGTERM)
                assert controller.wait(DEADLINE_S) == 128 + signal.SIGTERM
            news = [line for line in lines if ": connected: " in line and "server" not in line]
            missing = {line.split()[1] for line in lines if "not there yet" in line}
            assert len(news) == SWITCHES - SILENT and all(repairs in line for line in news)
            assert missing == {f"s{number}:" for number in range(SWITCHES - SILENT, SWITCHES)}
