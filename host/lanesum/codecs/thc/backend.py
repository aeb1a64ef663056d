# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Backends of ``thc``: the arithmetic of one all-reduce, on the device of its vector. All have the same words."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lanesum._internal import arrays
from lanesum._internal.deferred import Deferred
from lanesum._internal.native import availability
from lanesum.aggregation.combine import Words
from lanesum.codecs.base import CodecContext, Members, Result, Vector
from lanesum.codecs.kernels.dispatch import threads
from lanesum.codecs.norms import norms_of
from lanesum.codecs.thc.blocks import BlockCoder, Run, cut
from lanesum.codecs.thc.dither import dither_sum

# Coordinates of a part of a round, per thread. Parts overlap with the network, but each has a fixed cost in Python:
# parts of an eighth of the vector are long enough, up to the maximum.
_PIECE = 1 << 18
_MAX_PIECE = 1 << 20
_MAX_OVERLAP = 8


class Backend(Protocol):
    """Arithmetic of one all-reduce. Each method is called once, in this order.

    - ``norms`` returns the norms of this worker's blocks (float32, on the host). Raises the exceptions of
      :func:`lanesum.codecs.norms.norms_of`. Norms that were computed elsewhere need no call.
    - ``prepare`` prepares the code round. ``peaks``: the largest norms of all workers.
    - ``encode`` encodes the words of a run.
    - ``decode`` decodes the sums of a run over all workers. The caller may reuse ``lanes`` afterwards.
      ``decode_members`` decodes those of the whole round, which lack some workers, instead.
    - ``result`` returns the result. ``included``: True for sums that contain this worker's words.

    Attributes:
        runs: parts of the code round.
        codes: words of the code round, of the parts that are encoded; created by ``prepare``.
        own_residual: work while the codes are in flight, or None.
    """

    size: int
    runs: list[Run]
    own_residual: Callable[[], Any] | None

    @property
    def codes(self) -> Words: ...
    def norms(self) -> Vector: ...
    def prepare(self, norms: Vector, peaks: Vector) -> None: ...
    def encode(self, number: int) -> None: ...
    def decode(self, number: int, lanes: Words) -> None: ...
    def decode_members(self, sums: Words, members: Members) -> None: ...
    def result(self, included: bool | NDArray[np.bool_]) -> Result: ...


class HostBackend:
    """Backend for an array (float32, one dimension, contiguous).

    ``places``: numbers of the blocks to reduce; None for all. ``values`` and ``residual``: of all blocks, where results
    of these are written; None for new arrays.
    """

    def __init__(
        self,
        coder: BlockCoder,
        vector: Vector,
        context: CodecContext,
        places: Words | None = None,
        values: Vector | None = None,
        residual: Vector | None = None,
    ) -> None:
        missing = 0 if places is None else max(0, (int(places[-1]) + 1) * coder.block - vector.size)
        self.size = vector.size if places is None else places.size * coder.block - missing
        # One native call is faster than several, but the bytes of digits are to stay in the cache. Other arithmetic has
        # temporary arrays of the length of a run.
        self._pieces = cut(self.size, coder.block, _PIECE * threads(), places)
        self.runs = self._pieces
        if availability().core is not None and not coder.per_word:
            piece = min(max(self.size // _MAX_OVERLAP, _PIECE), _MAX_PIECE) * threads()
            self.runs = cut(self.size, coder.block, piece if context.in_pieces else self.size, places)
        self.values = context.array_of_values(vector) if values is None else values
        self._residual = residual
        self._coder = coder
        self._vector = vector
        self._context = context
        self.own_residual: Callable[[], Any] | None = None

    def norms(self) -> Vector:
        return norms_of(self._vector, self._coder.block, self._context)

    def prepare(self, norms: Vector, peaks: Vector) -> None:
        context, coder = self._context, self._coder
        self._peaks = peaks
        self._powers, self._positions = coder.factors(norms, peaks)
        self._scales = coder.scales(self.size, peaks, context.divisor)
        self._everyone = dither_sum(context.workers, coder.grid.granularity)
        self.codes: Words = arrays.empty(self.runs[-1].words(coder.code_bits).stop, np.uint32)
        self.own_residual = Deferred(partial(self.residual, True)) if context.keep_residual else None

    def encode(self, number: int) -> None:
        self.encode_run(self.runs[number])

    def encode_run(self, run: Run) -> None:
        """Encode the words of any run."""
        words = self.codes[run.words(self._coder.code_bits)]
        self._coder.encode(self._vector, run, self._powers, self._positions, self._context, words)

    def decode(self, number: int, lanes: Words) -> None:
        self.decode_run(self.runs[number], lanes)

    def decode_run(self, run: Run, lanes: Words) -> None:
        """Decode the sums of any run over all workers."""
        self._coder.decode(lanes, run, self._scales, self._context, self._everyone, self.values)

    def decode_members(self, sums: Words, members: Members) -> None:
        for run in self._pieces:
            words = run.words(self._coder.lane_bits)
            part = Members(members.sets, members.of_word[words])
            self._coder.decode_members(sums[words], run, self._peaks, self._context, part, self.values)

    def result(self, included: bool | NDArray[np.bool_]) -> Result:
        if not self._context.keep_residual:
            return Result(self.values)
        if self.own_residual is None:
            return Result(self.values, self._vector.copy())
        return Result(self.values, self.own_residual() if np.all(included) else self.residual(included))

    def residual(self, included: bool | NDArray[np.bool_]) -> Vector:
        """Return the vector minus the decoding of this worker's summed codes."""
        coder = self._coder
        residual = arrays.empty(self.size, np.float32) if self._residual is None else self._residual
        scales = coder.scales(self.size, self._peaks, 1)
        words = self.runs[-1].words(coder.lane_bits).stop
        summed = None if included is True else np.broadcast_to(included, words)
        for run in self.runs if included is True else self._pieces:
            counted = None if summed is None else summed[run.words(coder.lane_bits)]
            codes = self.codes[run.words(coder.code_bits)]
            coder.residual(self._vector, codes, run, scales, self._context, counted, residual)
        return residual
