# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packets of the switch benchmark: a job's contributions in sending order."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import numpy as np

from lanesum.protocol import ChunkBatch, Header, LaneOp
from lanesum.protocol.spec import UDP_PORT
from lanesum_control.controller.controller import AdmittedJob, Controller, JobRequest
from lanesum_control.planner.network import Network
from lanesum_control.servers.controlled_server import NoServer
from lanesum_control.switches.managed import ManagedSwitch
from lanesum_fabric.program.controlled_switch import ControlledSwitch
from lanesum_fabric.program.switch_job import SWITCH_MAC
from lanesum_fabric.topology import Topology
from lanesum_switch.frames import UdpFrame, ipv4_int

JOB = "bench"


@dataclass(frozen=True, slots=True)
class Workload:
    """``frames``: (switch port, frame) in order; every ``workers`` frames complete one chunk."""

    job: AdmittedJob
    frames: list[tuple[int, bytes]]
    workers: int
    chunks: int


def admit(switch: ControlledSwitch, topology: Topology, accumulator_words: int) -> AdmittedJob:
    """Add the hosts and the benchmark's job to a switch."""
    network = Network.of(topology, loopback=False)
    switches = {topology.switch: ManagedSwitch(switch)}
    controller = Controller(network, NoServer(), switches, accumulator_words=accumulator_words)
    workers = tuple(topology.names("worker"))
    return controller.admit(JobRequest(JOB, workers, codec="thc"))


def build(job: AdmittedJob, op: LaneOp, chunks: int, *, epoch: int = 0, position: int = 0) -> Workload:
    """Return ``chunks`` chunks of random words from every worker, workers taking turns."""
    first = job.tickets[0]
    generator = np.random.default_rng(secrets.randbits(32))
    per_worker = []
    (on_switch,) = job.switch_jobs.values()
    for ticket, member in zip(job.tickets, on_switch.members, strict=True):
        words = generator.integers(0, 1 << 32, (chunks, op.shape.uplink_words(first.accumulator_words)), np.uint32)
        header = Header(job=ticket.job, tag=ticket.tag, epoch=epoch, op=op, workers=1 << ticket.worker)
        header.fan_in_workers = ticket.workers
        batch = ChunkBatch(header, words, position=position, slots=ticket.slots)
        frame = UdpFrame(
            member.host.mac, SWITCH_MAC, member.host.ip, ipv4_int(ticket.server[0]), member.udp_port, UDP_PORT, b""
        )
        per_worker.append(
            [(member.host.port, frame.with_payload(bytes(batch.packet(c))).pack()) for c in range(chunks)]
        )
    frames = [frames[chunk] for chunk in range(chunks) for frames in per_worker]
    return Workload(job, frames, len(per_worker), chunks)
