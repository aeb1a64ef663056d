# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Servers under test: this one in front of several switches, and BMv2's simple_switch_grpc."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lanesum_control.controller.process import accepts
from lanesum_lab.targets.bmv2 import PROGRAM as BMV2
from lanesum_switch.p4runtime import P4RuntimeServer
from tests.free_ports import LOCALHOST, free_ports

from .fake_switch import FakeSwitch

DEVICE_ID = 1
CPU_PORT = 510


def _embedded_switch() -> Any:
    dataplane = pytest.importorskip("lanesum_switch.dataplane")
    return dataplane.EmbeddedSwitch(cpu_port=CPU_PORT)


def _fake_switch() -> Any:
    return FakeSwitch(cpu_port=CPU_PORT)


_SWITCHES = {"fake": _fake_switch, "embedded": _embedded_switch}


@contextmanager
def running(target: str) -> Iterator[str]:
    """Start a server without a program; yield its gRPC address."""
    if target == BMV2:
        with _running_bmv2() as address:
            yield address
        return
    make = _SWITCHES[target]
    with P4RuntimeServer(make(), "127.0.0.1:0", DEVICE_ID, spare=make) as server:
        yield server.address


@contextmanager
def _running_bmv2() -> Iterator[str]:
    program = shutil.which(BMV2)
    if program is None:
        pytest.skip(f"{BMV2} is not on PATH")
    host, (port,) = LOCALHOST, free_ports(1, socket.SOCK_STREAM)
    command = [program, "--no-p4", "--device-id", str(DEVICE_ID), "--"]
    command += ["--grpc-server-addr", f"{host}:{port}", "--cpu-port", str(CPU_PORT)]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 120
            while not accepts(host, port):
                if process.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    pytest.fail(f"{BMV2} did not start: {log.read().decode(errors='replace')[-2000:]}")
                time.sleep(0.01)
            yield f"{host}:{port}"
        finally:
            process.terminate()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
