# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The lanesum program with and without the vectorizer: random contributions have the same effect."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import VERSION, Flag, Kind
from lanesum_fabric.program.switch_job import NO_ROLE, Role
from lanesum_switch.api import ActionCall, Match, Replica, TableEntry
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.runtime.hashes import csum16
from tests.paths import ROOT

BUILD = ROOT / "p4src" / "build"


ALL_OPS = (1 << len(LaneOp)) - 1


JOB, TAG, GROUP, WORKERS, SLOTS = 7, 0x1234, 9, 4, 4


INGRESS = "IngressPipeline."


def contribution(rng: random.Random, words: int) -> tuple[int, bytes]:
    """Return (port, frame) of a contribution with random fields; some frames are truncated."""
    worker, op = rng.randrange(WORKERS), rng.choice(list(LaneOp))
    count = op.shape.uplink_words(words)
    payload = struct.pack(f">{count}I", *(rng.getrandbits(32) for _ in range(count)))
    position = rng.randrange(2) << 15 | rng.randrange(SLOTS)
    fields = (JOB, TAG, rng.randrange(3), rng.randrange(2), position, op, 0, 1 << worker, 0, 0, 0, count)
    flags = rng.choice((0, 0, 0, *Flag))
    if flags == Flag.UPPER:
        count = words
        payload = rng.randbytes(4 * words)
        fields = (*fields[:-1], count)
    lanesum = bytes([VERSION << 4 | Kind.CONTRIBUTION, flags]) + struct.pack(">HIIIHBBIIBBH", *fields)
    udp = struct.pack(">HHHH", 5000 + worker, 19539, 8 + 32 + len(payload), 0)
    length = 20 + len(udp + lanesum + payload)
    ipv4 = struct.pack(">BBHHHBBHII", 0x45, 0, length, 0, 0, 64, 17, 0, 0x0A000001 + worker, 0x0A0000FE)
    ipv4 = ipv4[:10] + csum16(ipv4).to_bytes(2, "big") + ipv4[12:]
    frame = bytes(12) + b"\x08\x00" + ipv4 + udp + lanesum + payload
    return worker, frame if rng.random() > 0.05 else frame[: rng.randrange(len(frame))]


def program_with_job(path: Path, vectorize: bool, role: Role = NO_ROLE) -> EmbeddedSwitch:
    """Return a switch that runs a lanesum program with one job."""
    switch = EmbeddedSwitch(vectorize=vectorize, clock=lambda: 0)
    switch.load(path.read_bytes())
    tables = switch.tables
    for worker in range(WORKERS):
        for aggregate in (0, 1):
            source = (Match(worker), Match(0x0A000001 + worker), Match(5000 + worker))
            match = (*source, Match(JOB), Match(TAG), Match(aggregate))
            admit = ActionCall(
                INGRESS + "membership.admit", (1 << worker, 0, SLOTS, WORKERS, GROUP, ALL_OPS, role, 1000)
            )  # fmt: skip
            tables[INGRESS + "membership.member"].insert(TableEntry(match, admit))
        address = ActionCall("EgressPipeline.receiver.address", (worker, 0x0A000001 + worker, 5000 + worker))
        tables["EgressPipeline.receiver.receiver"].insert(TableEntry((Match(JOB), Match(worker + 1)), address))
    table = int.from_bytes(bytes(range(3, 243, 15)), "big")
    code_table = ActionCall(INGRESS + "lanes.use_code_table", (table,))
    tables[INGRESS + "lanes.lookup"].insert(TableEntry((Match(JOB),), code_table))
    # All frames are addressed to station 0.
    station = ActionCall(INGRESS + "station.to_switch", (0, 0, 0))
    tables[INGRESS + "station.station"].insert(TableEntry((Match(0),), station))
    server = ActionCall(INGRESS + "forward.route", (WORKERS, 1, 2))
    tables[INGRESS + "forward.forward"].insert(TableEntry((Match(0x0A0000FE, 32),), server))
    switch.set_multicast_group(GROUP, [Replica(port, port + 1) for port in range(WORKERS)])
    return switch


@pytest.mark.skipif(not BUILD.is_dir(), reason="no compiled lanesum program")
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 1 << 32), role=st.sampled_from([NO_ROLE, Role.ASCEND, Role.UPPER]))
def test_vectorizer_does_not_change_lanesum_program(seed: int, role: Role) -> None:
    path = BUILD / "bmv2-w32.json"
    plain, vector = program_with_job(path, False, role), program_with_job(path, True, role)
    (program,) = plain.programs
    rng = random.Random(seed)
    sent = 0
    for _ in range(300):
        port, frame = contribution(rng, 32)
        expected = plain.process(port, frame)
        assert vector.process(port, frame) == expected
        sent += len(expected)
    assert sent > 0
    assert plain.counts == vector.counts
    assert plain.counts.program_errors == 0
    for name in program.registers:
        cells = [(plain.read_register(name, i), vector.read_register(name, i)) for i in range(2 * SLOTS)]
        assert all(a == b for a, b in cells), name


@pytest.mark.skipif(not BUILD.is_dir(), reason="no compiled lanesum program")
def test_words_of_lanesum_program_are_one_bank() -> None:
    vector = program_with_job(BUILD / "bmv2-w32.json", True)
    assert vector.compiled is not None
    bank = vector._runtime.registers[INGRESS + "lanes.words_0"]
    assert len(bank.names) == 32
    # A few statements on large ints replace some hundred scalar ones.
    scalar = program_with_job(BUILD / "bmv2-w32.json", False)
    assert len(vector.source.splitlines()) < 0.6 * len(scalar.source.splitlines())
