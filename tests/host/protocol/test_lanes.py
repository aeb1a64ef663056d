# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Lane operations: results are those of their definition, coordinate by coordinate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from lanesum.aggregation.combine import combine, expand
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp, carried_by, check_carried

Words = NDArray[np.uint32]
TABLE = bytes([0, 1, 3, 4, 5, 6, 7, 8, 9, 11, 13, 14, 15, 18, 21, 255])
WIDENING = [op for op in LaneOp if op.shape.widens]


def packed(op: LaneOp, codes: NDArray[np.int64]) -> Words:
    """Return uplink words with ``codes`` in coordinate order: the inverse of widening, bit by bit."""
    shape = op.shape
    groups = codes.reshape(-1, shape.accumulator_words_per_group, shape.lanes_per_accumulator_word)
    words = np.zeros((len(groups), shape.uplink_words_per_group), np.uint64)
    for number in range(shape.accumulator_words_per_group):
        for lane in range(shape.lanes_per_accumulator_word):
            code = groups[:, number, lane].astype(np.uint64)
            low = 32 - (lane + 1) * shape.lane_bits  # the first coordinate is in the most significant lane
            if shape.planes:
                for plane in range(shape.code_bits):
                    words[:, plane] |= (code >> np.uint64(plane) & np.uint64(1)) << np.uint64(low + number)
            else:
                words[:, 0] |= code << np.uint64(low + number * shape.code_bits)
    return words.astype(np.uint32).reshape(-1)


def lanes_of(op: LaneOp, words: Words) -> NDArray[np.int64]:
    """Return the lanes of accumulator words in coordinate order."""
    big = words.astype(">u4")
    return big.view(f">u{op.shape.lane_bits // 8}").astype(np.int64)


@pytest.mark.parametrize("op", WIDENING)
@given(data=st.data())
def test_expand_keeps_the_order_of_coordinates(op: LaneOp, data: st.DataObject) -> None:
    """Packed codes become lanes in the same order, for one array and for rows."""
    shape = op.shape
    groups = data.draw(st.integers(0, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 20)))
    codes = rng.integers(0, 1 << shape.code_bits, groups * shape.codes_per_group)
    words = packed(op, codes)
    wide = expand(op, words, TABLE)
    assert (words.size, wide.size) == (shape.uplink_words(wide.size), shape.accumulator_words(words.size))
    values = np.frombuffer(TABLE, np.uint8)[codes] if op.shape.lookup else codes
    np.testing.assert_array_equal(lanes_of(op, wide), values)
    rows = expand(op, np.stack([words, words]), TABLE)
    np.testing.assert_array_equal(rows, [wide, wide])


@pytest.mark.parametrize("op", WIDENING)
@pytest.mark.parametrize("workers", [2, 17, 1024])
def test_combine_of_fitting_codes_does_not_carry(op: LaneOp, workers: int) -> None:
    """The largest code times the number of workers fits a lane."""
    shape = op.shape
    largest = min((1 << shape.code_bits) - 1, ((1 << shape.lane_bits) - 1) // workers)
    if op.shape.lookup:
        table = bytes(min(code, largest) for code in range(16))
    else:
        table = None
    rng = np.random.default_rng(workers)
    total, sums = np.zeros(2 * shape.accumulator_words_per_group, np.uint32), np.zeros(2 * shape.codes_per_group)
    for _ in range(workers):
        codes = rng.integers(0, largest + 1, sums.size)
        total = combine(op, total, expand(op, packed(op, codes), table))
        sums += codes
    np.testing.assert_array_equal(lanes_of(op, total), sums)


@pytest.mark.parametrize(
    ("op", "sent", "wide"),
    [
        (LaneOp.EXPAND8, [0x51627384], [0x01020304, 0x05060708]),
        (LaneOp.EXPAND16, [0x7531ECA8], [0x10008, 0x3000A, 0x5000C, 0x7000E]),
        (LaneOp.EXPAND8TO16, [0xAABBCCDD], [0x00BB00DD, 0x00AA00CC]),
        # Plane 0 has the first coordinate of word 0 (bit 24) and the last one of word 7 (bit 7), and so on.
        (LaneOp.EXPAND3TO8, [0x01000080, 0x01000000, 0x00000080], [0x03000000, 0, 0, 0, 0, 0, 0, 5]),
        (LaneOp.EXPAND5TO8, [1 << 31, 0, 1 << 31, 1, 1 << 31 | 1], [0x18, 0, 0, 0, 0, 0, 0, 0x15000000]),
    ],
)
def test_expand_worked_examples(op: LaneOp, sent: list[int], wide: list[int]) -> None:
    assert expand(op, np.array(sent, np.uint32)).tolist() == wide


@pytest.mark.parametrize("op", [LaneOp.EXPAND3TO8, LaneOp.EXPAND5TO8])
def test_expand_of_incomplete_group_raises(op: LaneOp) -> None:
    with pytest.raises(ValueError, match="reshape"):
        expand(op, np.zeros(op.shape.uplink_words_per_group + 1, np.uint32))


def test_carried_by_needs_packets_of_whole_groups() -> None:
    assert carried_by(64) == tuple(LaneOp)
    assert LaneOp.EXPAND16 in carried_by(4) and LaneOp.EXPAND3TO8 not in carried_by(4)
    assert set(carried_by(3)) == {op for op in LaneOp if op.shape.accumulator_words_per_group in (1, 3)}
    check_carried("A job", LaneOp, 16)
    with pytest.raises(ConfigurationError, match=r"A job: EXPAND3TO8 .* groups of 8 words, .* packets of 350\. Choose"):
        check_carried("A job", [LaneOp.ADD32, LaneOp.EXPAND3TO8], 350)


def test_uplink_words_of_64_accumulator_words() -> None:
    assert {op: op.shape.uplink_words(64) for op in LaneOp if op.shape.widens} == {
        LaneOp.EXPAND8: 32,
        LaneOp.TABLE8: 32,
        LaneOp.EXPAND16: 16,
        LaneOp.EXPAND8TO16: 32,
        LaneOp.EXPAND3TO8: 24,
        LaneOp.EXPAND5TO8: 40,
    }
