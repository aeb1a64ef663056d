# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``thc``: Tensor Homomorphic Compression with shared dithers and a norm for every block.

As in the paper (:mod:`lanesum.codecs.thc_paper`) all workers rotate their vector in the same way, after which its
coordinates are close to normal, and round them to a common grid of small integers, which a switch can add. Different
from it, each because the error is smaller or the work is less:

- The vector is cut into blocks of 4096, each with a norm and a rotation of its own. So the range of the grid follows
  the scale of every part, and a block stays in the first-level cache from the first look to the last.
- Rounding is dithered, and the dithers, which everyone can draw, are taken away again
  (:mod:`lanesum.codecs.thc_dither`). Half the variance of unbiased rounding goes with them; and as those of n workers
  are spread evenly, vectors that agree are rounded as if the grid were n times finer.
- The grid is the best one for its width in bits and the number of workers (:mod:`lanesum.codecs.thc_grid`).
- The signs before the rotation are new in every round, and the same for all blocks of a round.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from lanesum import arrays
from lanesum.aggregation.pieces import RoundPieces
from lanesum.codecs.base import (
    Aggregate,
    CodecContext,
    CodecError,
    Deferred,
    Members,
    Result,
    Round,
    RoundShape,
    Steps,
    Vector,
    Words,
    always,
    checked_vector,
    checked_words,
    uniform_contributors,
)
from lanesum.codecs.norms import checked_peaks, norms_of
from lanesum.codecs.thc_blocks import BlockCoder, Run, powers_of
from lanesum.codecs.thc_dither import dither_sum
from lanesum.codecs.thc_grid import best_grid
from lanesum.codecs.thc_reference import LEAST_BLOCK, padded_length
from lanesum.codecs.threaded import threads
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp

#: Operations by bits of a code and of a lane. Where it is TABLE8 it becomes EXPAND8 if no table is better than none.
OPS = {
    (3, 8): LaneOp.EXPAND3TO8,
    (4, 8): LaneOp.TABLE8,
    (4, 16): LaneOp.EXPAND16,
    (5, 8): LaneOp.EXPAND5TO8,
    (8, 16): LaneOp.EXPAND8TO16,
}
#: More would make a round's random bits the most of its work where some of them are missing.
MOST_WORKERS = 1024
#: A block is a power of two up to this.
MOST_BLOCK = 1 << 16
#: What one worker adds at most, times the workers: of a lane of 16 bits a little is kept for the sum of dithers.
LANE_MAX = {8: 255, 16: 65535 - 255}
# Coordinates of a piece of a round, for a thread: enough to make the pieces' own cost small, few enough to overlap.
_PIECE = 1 << 17


class THC:
    """THC for at most ``workers`` workers, 1,024 of them.

    ``bits``: 3, 4, 5 or 8, of a code on the way up. ``lanes``: 8 or 16, bits of a lane on the way down; None for the
    narrowest that holds the sum. ``block``: coordinates with one norm and one rotation, a power of two from 32 to
    65536. ``lookup``: whether codes may be looked up where they are summed (TABLE8), where that makes the error
    smaller; without it they are added as they are (EXPAND8), which more switches can do.

    Raises ConfigurationError for values that do not fit together. The codec keeps no state between calls; wrap it
    in :class:`lanesum.codecs.error_feedback.ErrorFeedback` to carry the clamping and rounding error over.

    Wire: one word per block up and down (MAX), then ``bits`` up and ``lanes`` bits down per padded coordinate.
    """

    name = "thc"

    def __init__(
        self, *, workers: int, bits: int = 4, lanes: int | None = None, block: int = 4096, lookup: bool = True
    ) -> None:
        if not 1 <= workers <= MOST_WORKERS:
            raise ConfigurationError(f"thc cannot serve {workers} workers.", f"Give a number from 1 to {MOST_WORKERS}.")
        if not LEAST_BLOCK <= block <= MOST_BLOCK or block & (block - 1):
            raise ConfigurationError(
                f"A block of {block} coordinates is not a power of two from {LEAST_BLOCK} to {MOST_BLOCK}."
            )
        self.workers = workers
        self.bits = bits
        self.block = block
        self.lanes = _lane_bits(bits, lanes, workers)
        self.op = OPS[bits, self.lanes]
        self.grid = best_grid(bits, workers, LANE_MAX[self.lanes], lookup and self.op is LaneOp.TABLE8)
        if self.op is LaneOp.TABLE8 and self.grid.uniform:
            self.op = LaneOp.EXPAND8
        #: The codec's arithmetic, on runs of blocks.
        self.coder = BlockCoder(self.grid, self.op, block)

    @property
    def code_table(self) -> NDArray[np.uint8] | None:
        """The 16 table entries of the job, or None where codes are added as they are."""
        return np.array(self.grid.levels, dtype=np.uint8) if self.op is LaneOp.TABLE8 else None

    def describe(self) -> str:
        """See :func:`lanesum.codecs.description`."""
        levels = f"0..{self.grid.granularity}" if self.grid.uniform else ",".join(map(str, self.grid.levels))
        return (
            f"{self.name} workers={self.workers} op={self.op.name} levels={levels} "
            f"limit={self.grid.limit!r} block={self.block}"
        )

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """One MAX word per block, ``bits`` per padded coordinate; no round for an empty vector."""
        if size == 0:
            return ()
        words = padded_length(size, self.block) * self.bits // 32
        return RoundShape(LaneOp.MAX, -(-size // self.block)), RoundShape(self.op, words)

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`; two rounds, ``norm`` and ``codes``.

        The rotation of the first piece overlaps the norm round, and the residual the code round.
        """
        vector = checked_vector(x, context, self.workers)
        if vector.size == 0:
            return Result(vector.copy(), vector.copy() if context.keep_residual else None)
        norm_shape, code_shape = self.shapes(vector.size)
        runs = self.runs(vector.size)

        norms = norms_of(vector, self.block, context)
        powers = powers_of(norms)
        first = Deferred(partial(self.coder.rotate, vector[runs[0].values], runs[0], powers, context))
        reply = yield Round(LaneOp.MAX, norms.view(np.uint32), first, label="norm")
        peaks = checked_peaks(reply, norm_shape)
        positions = self.coder.positions(norms, peaks)
        scales = self.coder.scales(vector.size, peaks, context.workers if context.average else 1)
        everyone = dither_sum(context.workers, self.grid.granularity)

        codes = arrays.empty(code_shape.words, np.uint32)
        values = arrays.empty(vector.size, np.float32)

        def encode(number: int) -> None:
            run = runs[number]
            words = codes[run.words(self.bits)]
            if number == 0:
                self.coder.quantize(first(), run, positions, context, words)
            else:
                self.coder.encode(vector[run.values], run, powers, positions, context, words)

        def decode(number: int, lanes: Words) -> None:
            run = runs[number]
            self.coder.decode(lanes, run, scales, context, everyone, values[run.values])

        ends = [run.words(self.bits).stop for run in runs]
        pieces = RoundPieces(encode, decode, ends, self.op.shape)
        if not context.in_pieces:
            pieces.encode_all()
        residual = partial(self._residual, vector, runs, codes, peaks, context)
        own = Deferred(partial(residual, True)) if context.keep_residual else None
        reply = yield Round(
            self.op, codes, own, label="codes", pieces=pieces if context.in_pieces else None, last=always
        )

        sums = checked_words(reply, code_shape)
        members = _members(reply, context)
        if members is None:
            pieces.decode_up_to(sums.size, sums)
        else:
            for run in runs:
                words = run.words(self.lanes)
                part = Members(members.sets, members.of_word[words])
                self.coder.decode_members(sums[words], run, peaks, context, part, values[run.values])
        if own is None:
            return Result(values)
        return Result(values, own() if np.all(reply.included) else residual(reply.included))

    def runs(self, size: int) -> list[Run]:
        """How a vector of ``size`` coordinates is cut into pieces of whole blocks."""
        blocks, step = -(-size // self.block), max(1, _PIECE * threads() // self.block)
        return [Run(first, min(blocks, first + step), size, self.block) for first in range(0, blocks, step)]

    def _residual(
        self,
        vector: Vector,
        runs: list[Run],
        codes: Words,
        peaks: Vector,
        context: CodecContext,
        included: bool | NDArray[np.bool_],
    ) -> Vector:
        """What this worker's summed codes did not say, for the whole vector."""
        residual = arrays.empty(vector.size, np.float32)
        scales = self.coder.scales(vector.size, peaks, 1)
        summed = None if included is True else np.broadcast_to(included, self.shapes(vector.size)[1].result_words)
        for run in runs:
            counted = None if summed is None else summed[run.words(self.lanes)]
            words, out = codes[run.words(self.bits)], residual[run.values]
            self.coder.residual(vector[run.values], words, run, scales, context, counted, out)
        return residual


def _members(reply: Aggregate, context: CodecContext) -> Members | None:
    """Who is in the sums, None for everyone; raises CodecError where workers are missing and nobody says which."""
    if reply.members is None:
        if uniform_contributors(reply) != context.workers:
            raise CodecError(
                f"A sum of {context.tensor!r} lacks some of {context.workers} workers, and does not say which.",
                "thc needs Aggregate.members where a quorum leaves workers out.",
            )
        return None
    members = reply.members
    if members.sets.shape[1:] != (context.workers,) or members.of_word.shape != reply.words.shape:
        raise CodecError(
            f"The members of an aggregate of {reply.words.size} words of {context.workers} workers have shapes "
            f"{members.sets.shape} and {members.of_word.shape}."
        )
    return None if members.sets.all() else members


def _lane_bits(bits: int, wanted: int | None, workers: int) -> int:
    """Bits of the lanes, or the ConfigurationError that names what would fit instead."""
    widths = sorted(width for code, width in OPS if code == bits and wanted in (None, width))
    if not widths:
        known = ", ".join(f"bits={code} with lanes={width}" for code, width in OPS)
        where = "" if wanted is None else f" in lanes of {wanted}"
        raise ConfigurationError(f"thc has no codes of {bits} bits{where}.", f"There are {known}.")
    most = {key: min(MOST_WORKERS, LANE_MAX[key[1]] // (2 ** key[0] - 1)) for key in OPS}
    for width in widths:
        if workers <= most[bits, width]:
            return width
    width, granularity = widths[-1], 2**bits - 1
    fits = [f"bits={code} with lanes={lanes}" for (code, lanes), limit in most.items() if workers <= limit]
    raise ConfigurationError(
        f"g={granularity} x {workers} workers = {granularity * workers} exceeds the {LANE_MAX[width]} of a {width}-bit "
        "lane:",
        f"use at most {most[bits, width]} workers, or {', or '.join(fits)}.",
    )
