# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Lane arithmetic against plain Python per lane, and vectorized programs against the same programs without it."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import VERSION, Flag, Kind
from lanesum_control.model import NO_ROLE, Role
from lanesum_switch.api import ActionCall, Match, Replica, TableEntry
from lanesum_switch.compiler.lane_code import shift_table
from lanesum_switch.compiler.packed_arithmetic import PackedArithmetic, VectorShape
from lanesum_switch.compiler.python_source import Names, SourceWriter
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.runtime.hashes import csum16
from tests.paths import ROOT

BUILD = ROOT / "p4src" / "build"

Emit = Callable[[PackedArithmetic, VectorShape], str]


def evaluate(emit: Emit, shape: VectorShape, x: list[int], y: list[int]) -> list[int]:
    """Run the code that ``emit`` writes for lanes x and y; returns the lanes of the result."""
    names, writer = Names(), SourceWriter()
    names.used |= {"x", "y"}
    result = emit(PackedArithmetic(names, writer), shape)
    scope = {**names.bound, "x": shape.pack(x), "y": shape.pack(y)}
    exec(writer.source() + f"result = {result}\n", scope)
    number = scope["result"]
    assert isinstance(number, int)
    assert 0 <= number < 1 << shape.lanes * shape.bits
    mask = (1 << shape.bits) - 1
    return [number >> shape.bits * (shape.lanes - 1 - i) & mask for i in range(shape.lanes)]


@st.composite
def lanes(draw: st.DrawFn) -> tuple[VectorShape, list[int], list[int]]:
    shape = VectorShape(draw(st.integers(1, 9)), draw(st.sampled_from([2, 8, 16, 32, 33])))
    top = (1 << shape.bits) - 1
    word = st.integers(0, top) | st.sampled_from([0, 1, top, top >> 1, (top >> 1) + 1])
    row = st.lists(word, min_size=shape.lanes, max_size=shape.lanes)
    x = draw(row)
    return shape, x, draw(row | st.just(x))


BINARY: dict[str, tuple[Emit, Callable[[int, int, int], int]]] = {
    "add": (lambda s, shape: s.add(shape, "x", "y"), lambda x, y, m: x + y & m),
    "sub": (lambda s, shape: s.sub(shape, "x", "y"), lambda x, y, m: x - y & m),
    "invert": (lambda s, shape: s.invert(shape, "x"), lambda x, y, m: ~x & m),
    "shift left": (lambda s, shape: s.shift_left(shape, "x", 1), lambda x, y, m: x << 1 & m),
    "shift right": (lambda s, shape: s.shift_right(shape, "x", 1), lambda x, y, m: x >> 1),
    "at least": (lambda s, shape: s.at_least(shape, "x", "y"), lambda x, y, m: m if x >= y else 0),
    "differs": (lambda s, shape: s.differs(shape, "x", "y"), lambda x, y, m: m if x != y else 0),
    "maximum": (lambda s, shape: s.select(s.at_least(shape, "x", "y"), "x", "y"), lambda x, y, m: max(x, y)),
    "minimum": (lambda s, shape: s.select(s.at_least(shape, "x", "y"), "y", "x"), lambda x, y, m: min(x, y)),
    "stride and back": (
        lambda s, shape: s.restride(shape, s.restride(replace(shape, stride=3), "x", 1, 0), 3, 0),
        lambda x, y, m: x,
    ),
    "broadcast": (lambda s, shape: s.broadcast(shape, "3"), lambda x, y, m: 3),
}


@pytest.mark.parametrize("name", BINARY)
@given(row=lanes())
def test_lane_arithmetic(name: str, row: tuple[VectorShape, list[int], list[int]]) -> None:
    emit, expected = BINARY[name]
    shape, x, y = row
    mask = (1 << shape.bits) - 1
    assert evaluate(emit, shape, x, y) == [expected(a, b, mask) for a, b in zip(x, y, strict=True)]


@given(stride=st.integers(1, 9), to=st.integers(1, 9), row=lanes(), data=st.data())
def test_lanes_move_apart_and_together(
    stride: int, to: int, row: tuple[VectorShape, list[int], list[int]], data: st.DataObject
) -> None:
    """From every so many lanes of a row that is full to every so many of one with zeros between."""
    shape, x, _ = row
    trailing = data.draw(st.integers(0, stride - 1))
    top = (1 << shape.bits) - 1
    others = data.draw(st.lists(st.integers(0, top), min_size=stride, max_size=stride))
    full = [word if i == stride - 1 - trailing else others[i] for word in x for i in range(stride)]
    names, writer = Names(), SourceWriter()
    names.used.add("x")
    result = PackedArithmetic(names, writer).restride(replace(shape, stride=to), "x", stride, trailing)
    scope = {**names.bound, "x": VectorShape(len(full), shape.bits).pack(full)}
    exec(writer.source() + f"result = {result}\n", scope)
    assert scope["result"] == VectorShape(to * len(x), shape.bits).pack(
        [v for word in x for v in (*[0] * (to - 1), word)]
    )


@given(row=lanes(), stride=st.integers(2, 5))
@pytest.mark.parametrize("name", ["add", "sub", "maximum", "minimum", "shift left", "shift right"])
def test_lanes_apart_compute_alike(name: str, row: tuple[VectorShape, list[int], list[int]], stride: int) -> None:
    shape, x, y = row
    spread = VectorShape(stride * shape.lanes, shape.bits)
    emit, expected = BINARY[name]
    found = evaluate(
        lambda s, _: emit(s, replace(shape, stride=stride)),
        spread,
        *([v for word in lane for v in (*[0] * (stride - 1), word)] for lane in (x, y)),
    )
    mask = (1 << shape.bits) - 1
    assert found[stride - 1 :: stride] == [expected(a, b, mask) for a, b in zip(x, y, strict=True)]
    assert not any(v for i, v in enumerate(found) if i % stride != stride - 1)


@given(st.integers(0, 2**128 - 1), st.integers(0, 255))
def test_shift_table(number: int, mask: int) -> None:
    assert list(shift_table(number, mask)) == [number >> i & mask for i in range(256)]


# The real program: random contributions must have the same effect with and without the vectorizer.

ALL_OPS = (1 << len(LaneOp)) - 1
JOB, TAG, GROUP, WORKERS, SLOTS = 7, 0x1234, 9, 4, 4
INGRESS = "IngressPipeline."


def contribution(rng: random.Random, words: int) -> tuple[int, bytes]:
    """(port, frame) of a contribution with random operation, slot, epoch and words, now and then cut short."""
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
    server = ActionCall(INGRESS + "forward.route", (WORKERS, 1, 2))
    tables[INGRESS + "forward.forward"].insert(TableEntry((Match(0x0A0000FE, 32),), server))
    switch.set_multicast_group(GROUP, [Replica(port, port + 1) for port in range(WORKERS)])
    return switch


@pytest.mark.skipif(not BUILD.is_dir(), reason="no compiled lanesum program")
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 1 << 32), role=st.sampled_from([NO_ROLE, Role.ASCEND, Role.UPPER]))
def test_lanesum_program_with_and_without_vectorizer(seed: int, role: Role) -> None:
    path = BUILD / "bmv2-w32.json"
    plain, vector = program_with_job(path, False, role), program_with_job(path, True, role)
    assert plain.program is not None
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
    for name in plain.program.registers:
        cells = [(plain.read_register(name, i), vector.read_register(name, i)) for i in range(2 * SLOTS)]
        assert all(a == b for a, b in cells), name


@pytest.mark.skipif(not BUILD.is_dir(), reason="no compiled lanesum program")
def test_lanesum_words_are_one_bank() -> None:
    vector = program_with_job(BUILD / "bmv2-w32.json", True)
    assert vector.compiled is not None
    bank = vector._runtime.registers[INGRESS + "lanes.words_0"]
    assert len(bank.names) == 32
    # A few big-int statements in place of some thousand scalar ones.
    assert len(vector.source.splitlines()) < 1050
