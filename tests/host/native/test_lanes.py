# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Lane operations: every level of vector instructions computes the same as ``lanesum.aggregation.combine``."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from lanesum.aggregation.combine import combine, expand
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import CODE_TABLE_ENTRIES, WORD_BYTES
from lanesum.transport import JobTicket
from lanesum.transport.native_engine import NativeRoundSequence
from lanesum.transport.round_sequence import RoundSequence

Words = NDArray[np.uint32]
LEVELS = ("baseline", "avx2", "avx512")
ALIGNMENT = 64
MAX_WORDS = 200
# Word counts for vector loops: none, less than a vector, whole vectors of each width, and remainders.
SIZES = (0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 200)
# Words with carries, signs, and every nibble.
EDGES = (0, 1, 0x7F, 0xFF, 0xFF00FF, 0x7FFFFFFF, 0x80000000, 0x80808080, 0x76543210, 0xFEDCBA98, 0xFFFFFFFF)

words = st.one_of(st.sampled_from(EDGES), st.integers(0, 0xFFFFFFFF))


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest, native: Any) -> Iterator[str]:
    """Select each level in turn, and restore the level in use afterwards."""
    if request.param not in native.lane_levels():
        pytest.skip(f"This processor has no {request.param}.")
    before = native.lane_level()
    native.set_lane_level(request.param)
    assert native.lane_level() == request.param
    yield request.param
    native.set_lane_level(before)


def random_words(seed: int, count: int) -> Words:
    rng = random.Random(seed)
    return np.array([rng.choice((rng.choice(EDGES), rng.getrandbits(32))) for _ in range(count)], np.uint32)


def at_offset(content: bytes, offset: int) -> NDArray[np.uint8]:
    """Copy ``content`` to memory ``offset`` bytes after an address aligned for the widest vectors."""
    space = np.zeros(len(content) + 2 * ALIGNMENT, np.uint8)
    start = -space.ctypes.data % ALIGNMENT + offset % ALIGNMENT
    view = space[start : start + len(content)]
    view[:] = np.frombuffer(content, np.uint8)
    return view


def wire(values: Words, offset: int) -> NDArray[np.uint8]:
    return at_offset(values.astype(">u4").tobytes(), offset)


def accumulator(values: Words, offset: int) -> Words:
    """Copy ``values`` to memory ``offset`` words after an aligned address."""
    return at_offset(values.tobytes(), offset * WORD_BYTES).view(np.uint32)


def expected(op: LaneOp, before: Words, sent: Words, *, wide: bool, table: bytes | None, first: bool) -> Words:
    widened = sent if wide else expand(op, sent, table)
    return widened if first else combine(op, before, widened)


def check(native: Any, op: LaneOp, before: Words, sent: Words, offset: int, **how: Any) -> None:
    """Check one contribution, and that the words around the accumulator stay as they are."""
    surrounded = accumulator(np.concatenate([[7], before, [7]]).astype(np.uint32), offset)
    native.contribute(
        op,
        surrounded[1:-1],
        wire(sent, offset),
        wide=how["wide"],
        code_table=how["table"],
        first=how["first"],
    )
    np.testing.assert_array_equal(surrounded[1:-1], expected(op, before, sent, **how))
    assert (surrounded[0], surrounded[-1]) == (7, 7)


@pytest.mark.parametrize("op", LaneOp)
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("wide", [True, False])
def test_contribute_any_size_matches_reference(native: Any, level: str, op: LaneOp, wide: bool, first: bool) -> None:
    table = bytes(range(3, 3 + 5 * CODE_TABLE_ENTRIES, 5))
    for size in range(0, MAX_WORDS + 1, 1 if wide else op.shape.accumulator_words_per_group):
        before = random_words(size, size)
        sent = random_words(size + 1000, size if wide else op.shape.uplink_words(size))
        check(native, op, before, sent, offset=size, wide=wide, table=table, first=first)


@pytest.mark.parametrize("op", LaneOp)
@given(data=st.data())
def test_contribute_random_words_matches_reference_at_all_levels(native: Any, op: LaneOp, data: st.DataObject) -> None:
    wide, first = data.draw(st.booleans()), data.draw(st.booleans())
    table = data.draw(st.none() | st.binary(min_size=CODE_TABLE_ENTRIES, max_size=CODE_TABLE_ENTRIES))
    group = 1 if wide else op.shape.uplink_words_per_group
    groups = data.draw(st.lists(st.lists(words, min_size=group, max_size=group), max_size=MAX_WORDS // 2 // group))
    sent = np.array(groups, np.uint32).reshape(-1)
    size = sent.size if wide else op.shape.accumulator_words(sent.size)
    before = random_words(data.draw(st.integers(0, 1 << 20)), size)
    chosen = native.lane_level()
    try:
        for name in native.lane_levels():
            native.set_lane_level(name)
            check(native, op, before, sent, data.draw(st.integers(0, ALIGNMENT)), wide=wide, table=table, first=first)
    finally:
        native.set_lane_level(chosen)


def test_contribute_at_any_alignment_matches_reference(native: Any, level: str) -> None:
    before, sent = random_words(1, 64), random_words(2, 64)
    for op in LaneOp:
        part = sent[: op.shape.uplink_words(64)]
        for offset in range(ALIGNMENT):
            check(native, op, before, part, offset, wide=False, table=bytes(range(16)), first=False)


def test_contribute_wraps_and_carries_like_the_switch(native: Any, level: str) -> None:
    """The host keeps lanes from overflowing, not the operation."""
    for size in (1, 64, 67):
        for op, before, word, after in (
            (LaneOp.ADD32, 0xFFFFFFFF, 2, 1),
            (LaneOp.ADD8X4, 0x00FF00FF, 0x00010001, 0x01000100),
            (LaneOp.ADD8X4, 0xFF000000, 0x01000000, 0),
            (LaneOp.MAX, 0x7FFFFFFF, 0x80000000, 0x80000000),
            (LaneOp.OR, 0x80000001, 0x80000010, 0x80000011),
        ):
            sums = np.full(size, before, np.uint32)
            native.contribute(op, sums, wire(np.full(size, word, np.uint32), 1))
            assert set(sums.tolist()) == {after}, op
    for size in (2, 64, 70):
        sums = np.full(size, 0xFFFFFFFF, np.uint32)
        native.contribute(LaneOp.EXPAND8, sums, wire(np.full(size // 2, 0x76543210, np.uint32), 1))
        assert sums.tolist() == [0x060401FF, 0x07050300] * (size // 2)


def test_table8_without_table_adds_zero(native: Any, level: str) -> None:
    sums = np.full(34, 5, np.uint32)
    native.contribute(LaneOp.TABLE8, sums, wire(np.full(17, 0xFEDCBA98, np.uint32), 0))
    assert set(sums.tolist()) == {5}


@pytest.mark.parametrize("op", LaneOp)
def test_merge_matches_reference(native: Any, level: str, op: LaneOp) -> None:
    for size in SIZES:
        before, other = random_words(size, size), random_words(size + 1000, size)
        sums = accumulator(before, size)
        native.merge(op, sums, other)
        np.testing.assert_array_equal(sums, combine(op, before, other))


def test_store_and_load_words_are_inverse(native: Any, level: str) -> None:
    for size in SIZES:
        for offset in (0, 1, 2, 3, 7, 33):
            values = random_words(size, size)
            sent = at_offset(bytes(size * WORD_BYTES), offset)
            native.store_words(sent, values)
            assert sent.tobytes() == values.astype(">u4").tobytes()
            again = np.zeros(size, np.uint32)
            native.load_words(again, sent)
            np.testing.assert_array_equal(again, values)


def test_store_words_works_in_place(native: Any, level: str) -> None:
    for size in SIZES:
        values = random_words(size, size)
        memory = values.copy()
        native.store_words(memory.view(np.uint8), memory)
        assert memory.tobytes() == values.astype(">u4").tobytes()
        native.load_words(memory, memory.view(np.uint8))
        np.testing.assert_array_equal(memory, values)


def test_widest_level_is_the_default(native: Any) -> None:
    levels = native.lane_levels()
    assert levels == [name for name in LEVELS if name in levels]
    assert native.lane_level() == levels[-1]


def test_arguments_of_wrong_size_raise(native: Any) -> None:
    sums = np.zeros(4, np.uint32)
    for refused in (
        lambda: native.contribute(LaneOp.ADD32, sums, np.zeros(15, np.uint8)),
        lambda: native.contribute(LaneOp.EXPAND8, sums[:3], np.zeros(4, np.uint8)),
        lambda: native.contribute(len(LaneOp), sums, np.zeros(16, np.uint8)),
        lambda: native.contribute(LaneOp.TABLE8, sums, np.zeros(8, np.uint8), code_table=bytes(15)),
        lambda: native.merge(LaneOp.ADD32, sums, np.zeros(3, np.uint32)),
        lambda: native.store_words(np.zeros(17, np.uint8), sums),
        lambda: native.lane_rate(LaneOp.EXPAND8, 3, 1, 0.0),
        lambda: native.set_lane_level("mmx"),
    ):
        with pytest.raises(ValueError):
            refused()


@pytest.mark.parametrize("op", LaneOp)
def test_lane_rate_is_positive(native: Any, op: LaneOp) -> None:
    """The benchmark judges how high it is."""
    assert min(native.lane_rate(op, 64, 16, 0.0) + native.lane_rate(op, 64, 16, 0.0, first=True)) > 0


@pytest.mark.parametrize("op", [op for op in LaneOp if not op.shape.lookup], ids=lambda op: op.name)
def test_check_words_equal_those_of_python(level: str, op: LaneOp) -> None:
    """Packets of certified rounds: the products of words and factors are vectors, too."""
    ticket = JobTicket(
        job=1, tag=2, worker=1, workers=3, slots=64, accumulator_words=40, seed=3, certified=True, ops=(op,)
    )
    values = random_words(5, 120 * op.shape.uplink_words_per_group)
    python, native = RoundSequence(ticket), NativeRoundSequence(ticket)
    python.start(op, values)
    native.start(op, values)
    expected = [bytes(one) for one in python.due(0.0)]
    assert len(expected) > 1
    assert [bytes(one) for one in native.due(0.0)] == expected
