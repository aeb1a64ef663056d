# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Temporary memory of the backend of ``thc`` on the host."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from lanesum import environment
from lanesum._internal.native import VARIABLE
from lanesum.codecs import THC, CodecContext, Members
from lanesum.codecs.kernels.packing import lane_contribution
from lanesum.codecs.thc import backend
from lanesum.protocol.spec import CODE_TABLE_ENTRIES
from tests.host.codecs.samples import gaussian

PIECE, PIECES = 1 << 14, 32


def peak_bytes(work: Callable[[], object]) -> int:
    """Return the largest number of bytes that ``work`` allocates at once."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("choice", ["auto", "off"])
def test_temporary_memory_is_that_of_a_piece(choice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, choice)
    monkeypatch.setenv(environment.THREADS, "1")
    monkeypatch.setattr(backend, "_PIECE", PIECE)
    codec, vector = THC(workers=4), gaussian(1, PIECE * PIECES)
    residual = np.empty_like(vector)
    place = backend.HostBackend(codec.coder, vector, CodecContext(worker=1, workers=4), residual=residual)
    norms = place.norms()
    place.prepare(norms, norms)
    numbers, bits = range(len(place.runs)), codec.coder.lane_bits
    levels = np.array(codec.grid.levels, np.uint8)
    assert peak_bytes(lambda: [place.encode(number) for number in numbers]) < 128 * PIECE
    lanes = lane_contribution(codec.op, place.codes, np.resize(levels, CODE_TABLE_ENTRIES))
    parts = [lanes[run.words(bits)] for run in place.runs]
    assert peak_bytes(lambda: [place.decode(number, parts[number]) for number in numbers]) < 128 * PIECE
    missing = Members(np.array([[True, True, False, True]]), np.zeros(lanes.size, np.intp))
    assert peak_bytes(lambda: place.decode_members(lanes, missing)) < 128 * PIECE
    included = np.arange(lanes.size) % 2 == 0
    assert peak_bytes(lambda: place.residual(included)) < 128 * PIECE


@pytest.mark.parametrize(
    ("size", "pieces"),
    [(1 << 17, 1), (1 << 21, 8), ((1 << 21) - 4096, 8), (1 << 22, 8), (1 << 24, 16)],
)
def test_pieces_are_an_eighth_within_bounds(size: int, pieces: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lanesum_native")
    monkeypatch.setenv(VARIABLE, "required")
    monkeypatch.setenv(environment.THREADS, "1")
    context = CodecContext(worker=0, workers=1, in_pieces=True)
    place = backend.HostBackend(THC(workers=1).coder, np.broadcast_to(np.float32(0), size), context)
    assert len(place.runs) == pieces
    longest = max(run.values.stop - run.values.start for run in place.runs)
    assert longest == min(max(size // 8 // 4096 * 4096, 1 << 18), 1 << 20, size)
