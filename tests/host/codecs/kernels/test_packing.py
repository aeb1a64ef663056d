# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Codes and lanes in words: the layout by a worked example, round trips, exact contributions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lanesum.codecs import CodecError
from lanesum.codecs.kernels.packing import (
    lane_contribution,
    pack,
    pack_mask,
    unpack_lanes,
    unpack_mask,
)
from lanesum.protocol.lanes import LaneOp
from lanesum_lab.codec_simulation import aggregate

TABLE = np.array([0, 3, 5, 7, 9, 11, 13, 14, 16, 17, 19, 21, 23, 25, 27, 30], dtype=np.uint8)
code_arrays = st.integers(0, 20).flatmap(lambda words: hnp.arrays(np.uint8, 8 * words, elements=st.integers(0, 15)))


def test_mask_is_packed_from_the_lowest_bit() -> None:
    mask = np.zeros(70, np.bool_)
    mask[[0, 33, 69]] = True
    assert pack_mask(mask).tolist() == [1, 2, 32]
    assert (unpack_mask(pack_mask(mask), 70) == mask).all() and pack_mask(mask[:0]).size == 0


def test_worked_example() -> None:
    words = pack(LaneOp.EXPAND8, np.arange(1, 9, dtype=np.uint8))
    assert [hex(w) for w in words] == ["0x51627384"]
    lanes = lane_contribution(LaneOp.EXPAND8, words)
    assert [hex(w) for w in lanes] == ["0x1020304", "0x5060708"]
    assert lanes.astype(">u4").tobytes() == bytes(range(1, 9))
    looked_up = lane_contribution(LaneOp.TABLE8, words, TABLE)
    assert looked_up.astype(">u4").tobytes() == bytes([3, 5, 7, 9, 11, 13, 14, 16])


@given(code_arrays)
def test_codes_and_lanes_round_trip(codes: np.ndarray) -> None:
    words = pack(LaneOp.EXPAND8, codes)
    assert words.dtype == np.uint32 and words.size * 8 == codes.size
    assert (unpack_lanes(lane_contribution(LaneOp.EXPAND8, words)) == codes).all()
    assert (unpack_lanes(lane_contribution(LaneOp.TABLE8, words, TABLE)) == TABLE[codes]).all()
    assert (unpack_lanes(codes.view(">u4").astype(np.uint32)) == codes).all()


@given(st.integers(1, 17), st.data())
def test_sums_of_words_are_sums_of_lanes(workers: int, data: st.DataObject) -> None:
    codes = data.draw(hnp.arrays(np.uint8, (workers, 16), elements=st.integers(0, 15)))
    total = aggregate(LaneOp.EXPAND8, [lane_contribution(LaneOp.EXPAND8, pack(LaneOp.EXPAND8, c)) for c in codes])
    assert (unpack_lanes(total) == codes.sum(axis=0)).all()


def test_plain_words_contribute_themselves_and_add32_wraps() -> None:
    words = np.array([0xFFFFFFFF, 1], dtype=np.uint32)
    for op in (LaneOp.ADD32, LaneOp.ADD8X4, LaneOp.OR, LaneOp.MAX):
        assert (lane_contribution(op, words) == words).all()
    assert aggregate(LaneOp.ADD32, [words, words]).tolist() == [0xFFFFFFFE, 2]
    assert aggregate(LaneOp.OR, [words, words[::-1]]).tolist() == [0xFFFFFFFF, 0xFFFFFFFF]
    floats = np.array([0.0, 1e-45, 3.0, 3e38], dtype=np.float32)
    assert (aggregate(LaneOp.MAX, [floats.view(np.uint32), floats[::-1].copy().view(np.uint32)])).view(
        np.float32
    ).tolist() == np.maximum(floats, floats[::-1]).tolist()


def test_partial_word_is_refused() -> None:
    with pytest.raises(CodecError, match=r"Cannot pack uint8 codes of shape \(7,\): need uint8 in groups of 8"):
        pack(LaneOp.EXPAND8, np.zeros(7, dtype=np.uint8))
    with pytest.raises(CodecError, match="TABLE8 words require the code table of the job, 16 uint8 entries"):
        lane_contribution(LaneOp.TABLE8, np.zeros(1, dtype=np.uint32))
