# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Every example runs as its page says, against a controller and a server in this process, on loopback."""

from __future__ import annotations

import contextlib
import re
import shlex
import socket
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanesum.rpc import controller as rpc
from lanesum.session import Session
from tests.examples.conftest import WORKERS, Site, output_of, start
from tests.free_ports import free_ports
from tests.paths import ROOT

EXAMPLES = ROOT / "examples"


def run_workers(script: str, arguments: list[str]) -> list[str]:
    """Run an example with one process per worker, and return their outputs."""
    commands = [[f"examples/{script}", *arguments, f"--worker={number}"] for number in range(len(WORKERS))]
    return [output_of(process) for process in [start(command) for command in commands]]


def test_examples_page_names_every_script() -> None:
    page = (EXAMPLES / "README.md").read_text()
    assert set(re.findall(r"^\| `(\w+\.py)` \|", page, re.MULTILINE)) == {path.name for path in EXAMPLES.glob("*.py")}


def test_all_reduce_numpy_prints_sum_and_means(site: Site) -> None:
    for number, output in enumerate(run_workers("all_reduce_numpy.py", site.arguments("demo"))):
        assert f"worker {number}: the sum of all workers' numbers is 3\n" in output
        assert f"worker {number}: the means are 1.5, 15 and 150\n" in output


@pytest.mark.long
def test_page_commands_serve_a_job_without_switch() -> None:
    """The commands of the page, as they stand: the server listens where the tickets send the packets."""
    (block,) = re.findall(r"^```sh\n(.*?)^```", (EXAMPLES / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    *parts, admit = [["-m", "lanesum.cli", *shlex.split(line)[1:]] for line in block.splitlines()]
    with contextlib.ExitStack() as cleanup:
        for part in parts:
            process = start(part)
            cleanup.callback(process.communicate)
            cleanup.callback(process.terminate)
        rpc.call("127.0.0.1:19551", rpc.JOBS, {}, 60.0)
        output_of(start(admit))
        for number, output in enumerate(run_workers("all_reduce_numpy.py", ["--job=demo"])):
            assert f"worker {number}: the sum of all workers' numbers is 3\n" in output


def test_custom_codec_averages_within_its_unit(site: Site) -> None:
    for number, output in enumerate(run_workers("custom_codec.py", [*site.arguments("demo"), "--bits=20"])):
        (error,) = re.findall(rf"worker {number}: largest error of the mean (\S+)", output)
        assert float(error) <= 2.0**-20


def test_custom_codec_passes_conformance_test() -> None:
    """The module is a plugin of a pytest of its own, so that the codec is registered before tests are collected."""
    command = ["-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-p", "custom_codec"]
    output = output_of(start([*command, "tests/host/codecs/test_base_conformance.py", "-k", "constant-unit"]))
    assert re.search(r"\b[1-9]\d* passed", output) and "skipped" not in output


@pytest.mark.long
def test_train_ddp_trains_and_replicas_agree(site: Site) -> None:
    pytest.importorskip("torch")
    (port,) = free_ports(1, socket.SOCK_STREAM)
    command = ["-m", "torch.distributed.run", f"--nproc-per-node={len(WORKERS)}", "--master-addr=127.0.0.1"]
    command += [f"--master-port={port}", "examples/train_ddp.py", *site.arguments("demo"), "--steps=30"]
    output = output_of(start(command))
    (first, last) = re.findall(r"loss (\S+) in the first step, (\S+) in the last one", output)[0]
    assert float(last) < float(first)
    assert "replicas agree: True" in output


class RecordingSocket:
    """A worker's socket that records its datagrams as IP packets."""

    def __init__(self, sock: socket.socket, record: list[Any]) -> None:
        self._socket, self._record = sock, record
        self.fileno, self.close, self.getsockopt = sock.fileno, sock.close, sock.getsockopt

    def _packet(self, source: tuple[str, int], target: tuple[str, int], data: bytes) -> None:
        from scapy.layers.inet import IP, UDP
        from scapy.packet import Raw

        header = IP(src=source[0], dst=target[0]) / UDP(sport=source[1], dport=target[1])
        self._record.append(header / Raw(data))

    def send(self, data: Any) -> int:
        self._packet(self._socket.getsockname(), self._socket.getpeername(), bytes(data))
        return self._socket.send(data)

    def recv_into(self, buffer: bytearray) -> int:
        size = self._socket.recv_into(buffer)
        self._packet(self._socket.getpeername(), self._socket.getsockname(), bytes(buffer[:size]))
        return size


def all_reduce(site: Site, **options: Any) -> None:
    """Run one all-reduce of both workers in threads; ``options`` are those of the first session."""

    def work(number: int) -> None:
        with Session(site.controller.join("demo", number), codec="fixed", **({} if number else options)) as session:
            session.all_reduce(np.ones(10, np.float32))
            session.leave()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(WORKERS))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_read_capture_prints_every_packet(site: Site, tmp_path: Path) -> None:
    utils = pytest.importorskip("scapy.utils")
    record: list[Any] = []
    all_reduce(site, wrap_socket=lambda sock: RecordingSocket(sock, record))
    utils.wrpcap(str(tmp_path / "worker.pcap"), record)
    port = site.server.address[1]
    command = ["examples/read_capture.py", str(tmp_path / "worker.pcap"), f"--port={port}"]
    output = output_of(start(command))
    assert re.search(r"^\d+\.\d+ lanesum CONTRIBUTION job \d+ epoch \d+ chunk 0 slot \d/0 ADD32", output, re.MULTILINE)
    # One round of the all-reduce, and one of the leave.
    (contributions,) = re.findall(r"^(\d+) CONTRIBUTION, ", output, re.MULTILINE)
    (results,) = re.findall(r" (\d+) RESULT$", output, re.MULTILINE)
    assert min(int(contributions), int(results)) >= 2
