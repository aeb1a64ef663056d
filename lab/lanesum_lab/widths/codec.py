# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``thc-widths``: one round of ``thc`` for each width, all at once, on the blocks of that width.

The norms come first, as in ``thc``. Then all workers have the same norms, so they agree on a width for each block
(:mod:`lanesum_lab.widths.plan`) without another word. Blocks of one width are put side by side, and encoded and decoded
by the kernels of ``thc``. A block of 0 bits is not sent: its mean is zero, and error feedback keeps it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lanesum.aggregation.pieces import RoundPieces
from lanesum.codecs import THC
from lanesum.codecs.base import (
    CodecContext,
    Result,
    Round,
    RoundGroup,
    RoundShape,
    Steps,
    Vector,
    always,
    checked_vector,
    checked_words,
    round_in_pieces,
)
from lanesum.codecs.kernels.dispatch import kernels
from lanesum.codecs.norms import checked_norms, checked_peaks
from lanesum.codecs.registry import register
from lanesum.codecs.thc.backend import HostBackend
from lanesum.codecs.thc.codec import OPS, missing_members
from lanesum.codecs.traits import CodecTraits
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum_lab.widths.plan import Ladder, Width

# Coordinates of a block of the flat plan, a multiple of every shorter block.
_FLAT_BLOCK = 4096
# Widths pay for their shorter blocks and their copies if they reduce the expected error at least to this share.
_WORTHWHILE = 0.9


@dataclass
class _Group:
    """Blocks of one width: their numbers, None for all blocks of the flat plan, and their codec and backend."""

    blocks: NDArray[np.intp] | None
    codec: THC
    backend: HostBackend

    def round(self, context: CodecContext) -> tuple[Round, RoundPieces]:
        """Return the round of codes, and its pieces."""
        codec, backend = self.codec, self.backend
        ends = [run.words(codec.bits).stop for run in backend.runs]
        pieces = RoundPieces(backend.encode, backend.decode, ends, codec.op.shape)
        label = f"codes of {codec.bits} bits"
        own = backend.own_residual
        return round_in_pieces(context, codec.op, backend.codes, label, pieces, own, always), pieces


class WidthTHC:
    """THC with 0, 3, 4, 5 or 8 bits for each block of ``block`` coordinates.

    ``bits``: the bytes, uplink and downlink, are at most those of so many bits for every coordinate. ``error``: None,
    or the NMSE of one worker's vector that the fewest bytes have to reach, instead of ``bits``. ``exponent``: 1 or 2,
    of the norm in the weight of a block; 2 is best for the error, 1 for optimizers that scale small gradients up.
    ``lookup``: as for ``thc``.

    Where the norms have too little structure, all blocks are those of flat ``thc``, with 4,096 coordinates and the most
    bits within the budget. Raises ConfigurationError for a budget or an error that no width reaches.
    """

    name = "thc-widths"

    def __init__(
        self,
        *,
        workers: int,
        bits: float = 4,
        error: float | None = None,
        exponent: int = 1,
        block: int = 1024,
        lookup: bool = True,
    ) -> None:
        if exponent not in (1, 2):
            raise ConfigurationError(f"Invalid exponent={exponent} for codec thc-widths: expected 1 or 2.")
        if block not in (256, 512, 1024, 2048, 4096):
            raise ConfigurationError(f"Invalid block={block} for codec thc-widths: expected 256 to 4096, a power of 2.")
        self.workers, self.bits, self.error = workers, bits, error
        self.exponent, self.block, self.lookup = exponent, block, lookup
        self._codecs: dict[int, THC] = {}
        for width in sorted({bits for bits, _ in OPS}):
            try:
                self._codecs[width] = THC(workers=workers, bits=width, block=block, lookup=lookup)
            except ConfigurationError:
                continue  # the lanes do not fit so many workers
        if not self._codecs:
            THC(workers=workers)  # raises the error that says why
        widths = [Width(one.bits, one.bits + one.lanes, one.grid.error()) for one in self._codecs.values()]
        # Gradients of real models are between different and equal vectors.
        self._ladder = Ladder.of(widths, math.sqrt(workers))
        last = self._ladder.widths[-1]
        if error is None and not 0 < bits <= last.bits:
            raise ConfigurationError(
                f"Invalid bits={bits} for codec thc-widths: expected more than 0, at most {last.bits}."
            )
        if error is not None and not last.error <= error < 1:
            raise ConfigurationError(
                f"Invalid error={error} for codec thc-widths: expected {last.error:.2g} (of {last.bits} bits) to 1."
            )
        known = (Width(0, 0, 1.0), *widths)
        # In 1/1024 bits, so that all workers compute the same budget.
        self._budget = round(1024 * float(np.interp(bits, [one.bits for one in known], [one.cost for one in known])))
        fits = [one for one in widths if 1024 * one.cost <= self._budget] if error is None else []
        if error is not None:
            fits = [min((one for one in widths if one.error <= error), key=lambda one: one.cost)]
        self._flat = max(fits, key=lambda one: one.bits, default=None)
        self._flat_codec = None
        if self._flat is not None:
            self._flat_codec = THC(workers=workers, bits=self._flat.bits, block=_FLAT_BLOCK, lookup=lookup)
        # Normal vectors have the flat plan. The number of rounds is known after the norms.
        max_nmse = 1.0 if self._flat_codec is None else self._flat_codec.traits.max_nmse
        self.traits = CodecTraits(max_nmse=max_nmse, depends_on_past_sums=True)

    @property
    def code_table(self) -> NDArray[np.uint8] | None:
        """Code table of the job, for blocks of 4 bits."""
        return self._codecs[4].code_table if 4 in self._codecs else None

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`."""
        flat = "no flat plan" if self._flat_codec is None else f"flat: {self._flat_codec.describe()}"
        return (
            f"{self.name} workers={self.workers} bits={self.bits!r} error={self.error!r} exponent={self.exponent} "
            f"block={self.block} budget={self._budget} steps={self._ladder.steps} lookup={self.lookup} {flat}"
        )

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return the rounds of the flat plan, or of equal blocks of the most bits; others depend on the norms."""
        if size == 0:
            return ()
        norms = RoundShape(LaneOp.MAX, -(-size // self.block) - (-size // _FLAT_BLOCK))
        codec = self._flat_codec or self._codecs[min(self._codecs)]
        return norms, *codec.shapes(size)[1:]

    def widths(self, norms: Vector, coarse: Vector, full: int) -> NDArray[np.intp] | None:
        """Return the bits of each block, from the largest norms of all workers; None for the flat plan.

        ``coarse``: the norms of blocks of 4,096. ``full``: number of whole blocks. A shorter one has the flat width, or
        the smallest one, because it costs little.
        """
        ladder, flat = self._ladder, self._flat
        if flat is not None and not full:
            return None
        # One block is always sent, however small the budget of a short vector is.
        budget = None if self.error is not None else max(self._budget * full // 1024, ladder.widths[1].cost)
        plan = np.zeros(norms.size, np.intp)
        if full:
            plan[:full] = ladder.plan(norms[:full], self.exponent, budget, self.error or 0)
        least = 1 if flat is None else flat.bits
        if norms[full:].any():
            plan[full:] = next(index for index, one in enumerate(ladder.widths) if one.bits >= least)
        if flat is not None:
            if self.error is not None:
                worse = ladder.cost(plan[:full]) >= flat.cost * full
            else:
                equal = Ladder((flat,)).expected(coarse, np.zeros(coarse.size, np.intp))
                worse = ladder.expected(norms, plan) >= _WORTHWHILE * equal
            if worse:
                return None
        return np.array([one.bits for one in ladder.widths])[plan]

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`.

        A round ``norm`` with the norms of blocks and of blocks of 4,096, then one round for each width, in a group.
        """
        vector = checked_vector(x, context, self.workers)
        if vector.size == 0:
            return Result(vector.copy(), vector.copy() if context.keep_residual else None)
        sums = np.empty(-(-vector.size // self.block))
        kernels().square_sums(vector, self.block, sums)
        norms = checked_norms(sums, self.block, context, vector.size, lambda: vector)
        together = np.add.reduceat(sums, np.arange(0, sums.size, _FLAT_BLOCK // self.block))
        coarse = checked_norms(together, _FLAT_BLOCK, context, vector.size, lambda: vector)
        words = np.concatenate((norms, coarse)).view(np.uint32)
        reply = yield Round(LaneOp.MAX, words, label="norm")
        peaks = checked_peaks(reply, RoundShape(LaneOp.MAX, words.size))
        widths = self.widths(peaks[: norms.size], peaks[norms.size :], vector.size // self.block)
        if widths is None:
            assert self._flat_codec is not None
            groups = [_group(None, self._flat_codec, vector, coarse, peaks[norms.size :], context)]
        else:
            groups = [
                _group(np.flatnonzero(widths == bits), codec, vector, norms, peaks, context)
                for bits, codec in self._codecs.items()
                if (widths == bits).any()
            ]
        rounds = [group.round(context) for group in groups]
        replies = (yield RoundGroup(tuple(round_ for round_, _ in rounds))) if rounds else ()
        results = []
        for group, (round_, pieces), reply in zip(groups, rounds, replies, strict=True):
            codec = group.codec
            lanes = checked_words(reply, RoundShape(codec.op, round_.words.size))
            members = missing_members(reply, context)
            if members is None:
                pieces.decode_up_to(lanes.size, lanes)
            else:
                group.backend.decode_members(lanes, members)
            results.append(group.backend.result(reply.included))
        if widths is None:
            return results[0]
        values = np.zeros(vector.size, np.float32)
        residual = vector.copy() if context.keep_residual else None
        for group, result in zip(groups, results, strict=True):
            _scatter(result.values, group.blocks, group.codec.block, values)
            if residual is not None and result.residual is not None:
                _scatter(result.residual, group.blocks, group.codec.block, residual)
        return Result(values, residual)


def _group(
    blocks: NDArray[np.intp] | None, codec: THC, vector: Vector, norms: Vector, peaks: Vector, context: CodecContext
) -> _Group:
    """Start the all-reduce of some blocks; the last block of a vector may be shorter than the others."""
    if blocks is not None:
        full = vector.size // codec.block
        whole = vector[: full * codec.block].reshape(full, codec.block)[blocks[blocks < full]].reshape(-1)
        vector = whole if blocks[-1] < full else np.concatenate((whole, vector[full * codec.block :]))
        norms, peaks = norms[blocks], peaks[blocks]
    # Blocks of different widths have different dithers.
    backend = HostBackend(codec.coder, vector, replace(context, seed=context.seed ^ codec.bits))
    backend.set_norms(norms)
    backend.prepare(peaks)
    return _Group(blocks, codec, backend)


def _scatter(values: Vector, blocks: NDArray[np.intp] | None, block: int, out: Vector) -> None:
    assert blocks is not None
    full = out.size // block
    whole = blocks[blocks < full]
    out[: full * block].reshape(full, block)[whole] = values[: whole.size * block].reshape(-1, block)
    if blocks[-1] == full:
        out[full * block :] = values[whole.size * block :]


register("thc-widths", WidthTHC, optional_lookup=True)
