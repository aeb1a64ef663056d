# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Philox4x32-7 against its published known answers and a scalar model; the layout of the streams."""

from __future__ import annotations

import numpy as np
import pytest

from lanesum.codecs.kernels.philox import RandomStream, philox4x32, random_words
from lanesum_lab.codec_steps import uniforms
from tests.host.codecs.samples import signs

# kat_vectors of the Random123 distribution, philox4x32 with 7 rounds: counter, key, result.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x5F6FB709, 0x0D893F64, 0x4F121F81, 0x4F730A48)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x5207DDC2, 0x45165E59, 0x4D8EE751, 0x8C52F662)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0x4DFCCABA, 0x190A87F0, 0xC47362BA, 0xB6B5242A),
    ),
]


def scalar_philox(c: tuple[int, ...], k: tuple[int, int]) -> tuple[int, ...]:
    for _ in range(7):
        p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = ((p1 >> 32) ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xFFFFFFFF)
        k = ((k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF)
    return c


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_known_answers(counter: tuple[int, ...], key: tuple[int, int], expected: tuple[int, ...]) -> None:
    assert tuple(philox4x32(np.array([counter], dtype=np.uint32), key)[0].tolist()) == expected
    assert scalar_philox(counter, key) == expected


def test_words_follow_the_documented_layout_across_tiles() -> None:
    seed, worker, chunk, round_ = 0x0123456789ABCDEF, 5, 7, 2**32 + 9
    words = random_words(40_002, seed=seed, stream=RandomStream.ROUNDING, worker=worker, round=round_, chunk=chunk)
    assert words.size == 40_002
    for i in (0, 3, 4, 32_767, 32_768, 40_001):
        block = scalar_philox((i // 4, chunk, 9, RandomStream.ROUNDING << 24 | worker), (0x89ABCDEF, 0x01234567))
        assert words[i] == block[i % 4]


def test_uniforms_are_in_the_half_open_unit_interval() -> None:
    edge = uniforms(np.array([0, 0xFF, 0x100, 0xFFFFFFFF], dtype=np.uint32))
    assert edge.tolist() == [0, 0, 2**-24, 1 - 2**-24]
    many = uniforms(random_words(100_000, seed=1, stream=RandomStream.ROUNDING))
    assert abs(many.mean() - 0.5) < 0.004 and abs(many.var() - 1 / 12) < 0.001


def test_signs_are_balanced_and_prefix_of_longer_ones() -> None:
    long = signs(1 << 16, seed=42)
    assert set(long.tolist()) == {-1.0, 1.0} and abs(long.mean()) < 0.015
    assert (signs(1000, seed=42) == long[:1000]).all()
    word = int(random_words(2, seed=42, stream=RandomStream.DIAGONAL)[1])
    assert long[32:64].tolist() == [-1.0 if word >> bit & 1 else 1.0 for bit in range(32)]


def test_streams_workers_rounds_and_chunks_differ() -> None:
    base = {"seed": 1, "stream": RandomStream.ROUNDING, "worker": 0, "round": 0, "chunk": 0}
    first = random_words(64, **base)  # type: ignore[arg-type]
    for change in ({"seed": 2}, {"stream": RandomStream.DIAGONAL}, {"worker": 1}, {"round": 1}, {"chunk": 1}):
        assert (random_words(64, **{**base, **change}) != first).sum() > 60  # type: ignore[arg-type]
