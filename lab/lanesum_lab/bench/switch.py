# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packets per second of the embedded switch beside BMv2: the same program, packets and machine.

In memory, frames are passed to the switch in this process. On veth, the switch is a process with one AF_PACKET port per
worker in a network namespace, and this process keeps a window of chunks in flight. Switches take turns, so that a
change of the machine's speed affects them alike. Figures are medians.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lanesum.errors import ConfigurationError
from lanesum.protocol import ChunkBatch, Header, LaneOp
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, UDP_PORT
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.planner.network import Network
from lanesum_control.servers.controlled_server import NoServer
from lanesum_control.switches.client import SwitchConnection
from lanesum_control.switches.managed import ManagedSwitch
from lanesum_control.switches.switch import P4RuntimeSwitch
from lanesum_fabric.program.capabilities import DEFAULT_DEVICE_ID, ControlledSwitch
from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_fabric.program.switch_job import SWITCH_MAC
from lanesum_fabric.topology import load
from lanesum_lab import targets
from lanesum_lab.bench import registry
from lanesum_lab.bench.figures import BenchError, machine
from lanesum_lab.targets import SwitchProcess, SwitchTarget
from lanesum_lab.targets.bmv2 import BMV2, version
from lanesum_lab.veth import end, inside, obstacle, raw_sockets, switch_interface, veth_namespace
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.frames import UdpFrame, ipv4_int
from lanesum_switch.p4runtime import P4RuntimeServer

WINDOW_CHUNKS = 16  # BMv2 queues 64 packets per port; the job's 64 slots would allow more
_START_TIMEOUT_S = 60.0  # a busy machine imports a switch's modules for long
_RESULT_TIMEOUT_S = 120.0
_TOPOLOGY = "star4"
_FRAME_BYTES = 65536
_PEER = "BMv2 on veth"

JOB = "bench"
COLUMNS = ("switch", "operation", "packets/s", "min", "max", "times BMv2")

Measure = Callable[[LaneOp, int], float]


@dataclass(frozen=True, slots=True)
class SwitchSettings:
    """Settings of the benchmark."""

    ops: tuple[str, ...] = registry.option(
        ("ADD32", "EXPAND8", "TABLE8", "MAX"), "Lane operations, separated by commas."
    )
    chunks: int = registry.option(2000, "Chunks in a run; each is one packet from every worker.", low=10)
    repeats: int = registry.repeats(5)
    accumulator_words: int = registry.option(DEFAULT_ACCUMULATOR_WORDS, "Accumulator words per packet.", flag="--words")

    def __post_init__(self) -> None:
        unknown = [name for name in self.ops if name not in LaneOp.__members__]
        if unknown or not self.ops:
            known = ", ".join(LaneOp.__members__)
            raise ConfigurationError(f"There is no lane operation {', '.join(unknown)}.", f"Known ones: {known}.")


QUICK = SwitchSettings(ops=("ADD32", "EXPAND8"), chunks=100, repeats=1)


@dataclass(frozen=True, slots=True)
class Workload:
    """``frames``: (switch port, frame) in order; every ``workers`` frames complete one chunk."""

    frames: list[tuple[int, bytes]]
    workers: int
    chunks: int


class Feeder:
    """Builds workloads of a job of all workers, whose epochs and positions continue from one run to the next."""

    def __init__(self, switch: ControlledSwitch, accumulator_words: int) -> None:
        topology = load(_TOPOLOGY)
        network = Network.of(topology, loopback=False)
        switches = {topology.switch: ManagedSwitch(switch)}
        controller = Controller(network, NoServer(), switches, accumulator_words=accumulator_words)
        self._job = controller.admit(JobRequest(JOB, tuple(topology.names("worker")), codec="thc"))
        self._epoch = 0
        self._position = 0

    def workload(self, op: LaneOp, chunks: int) -> Workload:
        """Return ``chunks`` chunks of random words from every worker, workers taking turns."""
        tickets = self._job.tickets
        generator = np.random.default_rng(secrets.randbits(32))
        per_worker = []
        (on_switch,) = self._job.switch_jobs.values()
        for ticket, member in zip(tickets, on_switch.members, strict=True):
            words = generator.integers(0, 1 << 32, (chunks, op.shape.uplink_words(ticket.accumulator_words)), np.uint32)
            header = Header(job=ticket.job, tag=ticket.tag, epoch=self._epoch, op=op, workers=1 << ticket.worker)
            header.fan_in_workers = ticket.workers
            batch = ChunkBatch(header, words, position=self._position, slots=ticket.slots)
            frame = UdpFrame(
                member.host.mac, SWITCH_MAC, member.host.ip, ipv4_int(ticket.server[0]), member.udp_port, UDP_PORT, b""
            )
            per_worker.append(
                [(member.host.port, frame.with_payload(bytes(batch.packet(c))).pack()) for c in range(chunks)]
            )
        self._epoch += 1
        self._position = (self._position + chunks) % (2 * tickets[0].slots)
        return Workload([frames[chunk] for chunk in range(chunks) for frames in per_worker], len(per_worker), chunks)


@contextlib.contextmanager
def _in_memory(accumulator_words: int, folder: Path) -> Iterator[Measure]:
    switch = EmbeddedSwitch()
    address = f"unix:{folder / 'memory.sock'}"
    with P4RuntimeServer(switch, address, device_id=DEFAULT_DEVICE_ID), SwitchConnection(address) as connection:
        feeder = Feeder(P4RuntimeSwitch.with_pipeline(connection, bmv2_pipeline(accumulator_words)), accumulator_words)

        def measure(op: LaneOp, chunks: int) -> float:
            workload = feeder.workload(op, chunks)
            process, results = switch.process, 0
            start = time.perf_counter()
            for port, frame in workload.frames:
                results += len(process(port, frame))
            elapsed = time.perf_counter() - start
            if results != chunks * workload.workers:
                raise BenchError(f"The embedded switch sent {results} results, not {chunks * workload.workers}.")
            return len(workload.frames) / elapsed

        yield measure


@contextlib.contextmanager
def _on_veth(target: SwitchTarget, words: int, folder: Path) -> Iterator[Measure]:
    """Measure a switch process on veth pairs."""
    name = target.name
    ports = sorted(load(_TOPOLOGY).ports().values())
    address = f"unix:{folder / f'{name}.sock'}"
    with contextlib.ExitStack() as cleanup:
        namespace = cleanup.enter_context(veth_namespace(f"lanesum-{name}-{os.getpid()}", ports))
        sockets = cleanup.enter_context(raw_sockets(namespace, ports))
        log = cleanup.enter_context((folder / f"{name}.log").open("wb"))
        interfaces = {port: switch_interface(port) for port in ports}
        command = target.command(
            SwitchProcess(name=load(_TOPOLOGY).switch, topology=_TOPOLOGY, p4runtime=address, interfaces=interfaces)
        )
        process = subprocess.Popen(inside(namespace, command), stdout=log, stderr=log, cwd=folder)
        cleanup.callback(end, process)
        connection = cleanup.enter_context(SwitchConnection(address, timeout_s=_START_TIMEOUT_S))
        feeder = Feeder(P4RuntimeSwitch.with_pipeline(connection, target.pipeline(words)), words)

        def measure(op: LaneOp, chunks: int) -> float:
            return _windowed(name, feeder.workload(op, chunks), sockets)

        yield measure


def _windowed(name: str, workload: Workload, sockets: dict[int, socket.socket]) -> float:
    """Return the packets per second with WINDOW_CHUNKS chunks in flight; count results at the first worker's port."""
    listener = sockets[workload.frames[0][0]]
    listener.settimeout(_RESULT_TIMEOUT_S)
    for sock in sockets.values():
        _drain(sock)
    sent = completed = 0
    workers = workload.workers
    start = time.perf_counter()
    while completed < workload.chunks:
        while sent < workload.chunks and sent - completed < WINDOW_CHUNKS:
            for port, frame in workload.frames[sent * workers : (sent + 1) * workers]:
                sockets[port].send(frame)
            sent += 1
        try:
            listener.recv(_FRAME_BYTES)
        except TimeoutError as error:
            raise BenchError(f"{name} lost a packet: {completed} of {workload.chunks} results came back.") from error
        completed += 1
    return len(workload.frames) / (time.perf_counter() - start)


def _targets_on_veth() -> dict[str, SwitchTarget]:
    """Return the switches with a process of their own, by label: those with a known packet rate."""
    found = tuple(target for target in targets.targets() if target.packets_per_s is not None)
    return {_PEER if target is BMV2 else f"{target.name} on veth": target for target in found}


def _drain(sock: socket.socket) -> None:
    timeout = sock.gettimeout()
    sock.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            sock.recv(_FRAME_BYTES)
    sock.settimeout(timeout)


def run(settings: SwitchSettings) -> dict[str, Any]:
    """Measure; return a JSON-ready object with ``figures`` and ``left_out``: cases not measured, with the reasons."""
    chunks, accumulator_words = settings.chunks, settings.accumulator_words
    workers = len(load(_TOPOLOGY).names("worker"))
    on_veth = _targets_on_veth()
    problem = obstacle()
    left_out = {label: problem or target.obstacle for label, target in on_veth.items() if problem or target.obstacle}
    rates: dict[tuple[str, LaneOp], list[float]] = {}
    with contextlib.ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="lanesum-")))
        switches = {"embedded in memory": cleanup.enter_context(_in_memory(accumulator_words, folder))}
        for label, target in on_veth.items():
            if label not in left_out:
                switches[label] = cleanup.enter_context(_on_veth(target, accumulator_words, folder))
        for op in (LaneOp[name] for name in settings.ops):
            for measure in switches.values():
                measure(op, max(1, chunks // 10))  # warm-up
            for _ in range(settings.repeats):
                for label, measure in switches.items():
                    rates.setdefault((label, op), []).append(measure(op, chunks))
    return {
        "accumulator_words": accumulator_words,
        "workers": workers,
        "packets_per_run": chunks * workers,
        "machine": machine(),
        "bmv2": None if _PEER in left_out else version(),
        "figures": [_figure(label, op, values, rates.get((_PEER, op))) for (label, op), values in rates.items()],
        "left_out": left_out,
    }


def _figure(switch: str, op: LaneOp, runs: list[float], peer: list[float] | None) -> dict[str, Any]:
    median = statistics.median(runs)
    return {
        "switch": switch,
        "op": op.name,
        "median_pps": median,
        "min_pps": min(runs),
        "max_pps": max(runs),
        "runs": len(runs),
        "ratio_to_bmv2": median / statistics.median(peer) if peer else None,
    }


def rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``COLUMNS``."""
    for figure in result["figures"]:
        ratio = figure["ratio_to_bmv2"]
        rates = (f"{figure[key]:,.0f}" for key in ("median_pps", "min_pps", "max_pps"))
        yield figure["switch"], figure["op"], *rates, "-" if ratio is None else f"{ratio:.2f}"


registry.Benchmark(
    name="switch",
    summary="Packets per second of the embedded switch, beside BMv2 where it is on PATH (veth needs root).",
    quick=QUICK,
    run=run,
    tables=((COLUMNS, rows),),
).register()
