# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``thc``: Tensor Homomorphic Compression with shared dithers and a norm for every block.

As in the paper (:mod:`lanesum.codecs.thc_paper.codec`) all workers rotate their vector in the same way, after which its
coordinates are close to normal, and round them to a common grid of small integers, which a switch can add. Different
from it, each because the error is smaller or the work is less:

- The vector is cut into blocks of 4096, each with a norm and a rotation of its own. So the range of the grid follows
  the scale of every part, and a block stays in the first-level cache from the first look to the last.
- Rounding is dithered, and the dithers, which everyone can draw, are taken away again
  (:mod:`lanesum.codecs.thc.dither`). Half the variance of unbiased rounding goes with them; and as those of n workers
  are spread evenly, vectors that agree are rounded as if the grid were n times finer.
- The grid is the best one for its width in bits and the number of workers (:mod:`lanesum.codecs.thc.grid`).
- The signs before the rotation are new in every round, and the same for all blocks of a round.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.aggregation.pieces import RoundPieces
from lanesum.codecs.base import (
    Aggregate,
    CodecContext,
    CodecError,
    Members,
    Round,
    RoundShape,
    Steps,
    always,
    checked_vector,
    checked_words,
    is_tensor,
    uniform_contributors,
)
from lanesum.codecs.norms import checked_peaks
from lanesum.codecs.registry import register
from lanesum.codecs.thc.backend import HostPlace, Place
from lanesum.codecs.thc.blocks import BlockCoder
from lanesum.codecs.thc.grid import best_grid
from lanesum.codecs.thc.reference import LEAST_BLOCK, padded_length
from lanesum.codecs.traits import CodecTraits
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
        self.traits = CodecTraits(accepts_device_tensors=True, adds_memory=True, max_nmse=1.1 * self.grid.error())
        #: The codec's arithmetic, on runs of blocks.
        self.coder = BlockCoder(self.grid, self.op, block)

    @property
    def code_table(self) -> NDArray[np.uint8] | None:
        """The 16 table entries of the job, or None where codes are added as they are."""
        return np.array(self.grid.levels, dtype=np.uint8) if self.op is LaneOp.TABLE8 else None

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`."""
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

    def all_reduce(self, x: Any, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`; two rounds, ``norm`` and ``codes``.

        ``x`` may be a PyTorch tensor of a device, to which ``context.memory`` is added there. On the host the rotation
        of the first piece overlaps the norm round, and the residual the code round.
        """
        place = self._place(x, context)
        if place is None:
            return (yield from self._on_host(x, context))
        if place.size == 0:
            return place.result(True)
        norm_shape, code_shape = self.shapes(place.size)

        norms = place.norms()
        reply = yield Round(LaneOp.MAX, norms.view(np.uint32), place.ahead, label="norm")
        place.prepare(checked_peaks(reply, norm_shape))

        ends = [run.words(self.bits).stop for run in place.runs]
        pieces = RoundPieces(place.encode, place.decode, ends, self.op.shape)
        if not context.in_pieces:
            pieces.encode_all()
        reply = yield Round(
            self.op,
            place.codes,
            place.own_residual,
            label="codes",
            pieces=pieces if context.in_pieces else None,
            last=always,
        )

        sums = checked_words(reply, code_shape)
        members = _members(reply, context)
        if members is None:
            pieces.decode_up_to(sums.size, sums)
        else:
            place.decode_members(sums, members)
        return place.result(reply.included)

    def _place(self, x: Any, context: CodecContext) -> Place | None:
        """Where ``x`` is; None for a device that has no kernels for the codec's blocks."""
        if not is_tensor(x):
            return HostPlace(self.coder, checked_vector(x, context, self.workers), context)
        from lanesum.gpu.tensors import checked_tensor
        from lanesum.gpu.thc import MAX_BLOCK as MAX_DEVICE_BLOCK
        from lanesum.gpu.thc import DevicePlace

        x = checked_tensor(x, context, self.workers)
        return DevicePlace(self.coder, x, context) if self.block <= MAX_DEVICE_BLOCK else None

    def _on_host(self, x: Any, context: CodecContext) -> Steps:
        from lanesum.gpu.tensors import copy_and_make_steps, with_error_feedback

        return copy_and_make_steps(self, with_error_feedback(x, context), replace(context, memory=None))


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


register("thc", THC, optional_lookup=True)
