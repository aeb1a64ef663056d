# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``thc`` with a width for each block: one round of codes for each width, all at once, on the blocks of that width.

After the round of norms all workers have the same norms, so they agree on the widths without another word
(:mod:`lanesum.codecs.thc.allocation`). Blocks of one width are put side by side, and encoded and decoded as by flat
``thc``. A block of 0 bits is not sent: its mean is zero, and error feedback keeps it.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from lanesum._internal.deferred import Deferred
from lanesum.codecs.base import (
    CodecContext,
    Result,
    Round,
    RoundGroup,
    RoundShape,
    Steps,
    Vector,
    checked_vector,
    is_tensor,
)
from lanesum.codecs.norms import checked_peaks, norms_of
from lanesum.codecs.registry import register
from lanesum.codecs.thc.allocation import Ladder, Width
from lanesum.codecs.thc.backend import Backend, HostBackend
from lanesum.codecs.thc.blocks import BlockCoder
from lanesum.codecs.thc.codec import OPS, THC
from lanesum.codecs.thc.grid import best_of
from lanesum.codecs.thc.reference import new, picked, put
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp

# Coordinates of a block of the flat plan, a multiple of every shorter block.
_FLAT_BLOCK = 4096
_BLOCKS = (256, 512, 1024, 2048, 4096)
# Widths pay for their shorter blocks and copies if they reduce the expected error, or the bytes, to this share.
_WORTHWHILE = 0.9
# In the place of the bits of blocks in lanes of 4 bits, and the largest sum in one.
_NARROW, _NARROW_MAX = 2, 15
#: With more workers in lanes of 4 bits there are only two levels, nearly as bad as a block that is not sent.
MAX_NARROW_WORKERS = _NARROW_MAX // 2
# Unit of a budget is 1/1024 bit of a coordinate, so that all workers compute the same one.
_UNITS = 1024


class NarrowTHC(THC):
    """THC with lanes of 4 bits, for at most 7 workers: four workers have the levels 0 to 3.

    Words are packed as those of EXPAND8, but added as they are sent, by ADD32. Workers widen the sums.
    """

    def __init__(self, *, workers: int, block: int) -> None:
        super().__init__(workers=workers, block=block, lookup=False)
        self.lanes, self.op = 4, LaneOp.ADD32
        self.grid = best_of([tuple(range(_NARROW_MAX // workers + 1))], workers)
        self.coder = BlockCoder(self.grid, LaneOp.EXPAND8, block)


class WidthTHC(THC):
    """THC with 0, 3, 4, 5 or 8 bits for each block of ``block`` coordinates; at least one of ``budget`` and ``error``.

    ``budget``: the bytes, uplink and downlink, with the norms, are at most those of flat ``thc`` with so many bits.
    ``error``: NMSE of vectors of workers that differ, to reach with the fewest bytes on the downlink, the busier
    direction; up to 7 workers also have lanes of 4 bits for that. A budget goes first, and counts both.
    ``exponent``: 1 or 2, of the norm in the weight of a block. 2 has the least error, and is the default for an
    ``error``. 1 leaves more bits to small gradients, which some optimizers scale up. ``lookup``: as for :class:`THC`.

    Where the norms have too little structure, all blocks are those of flat ``thc`` with 4,096 coordinates and the most
    bits within the budget: the attributes of the base class. Raises ConfigurationError for a budget or an error that no
    width reaches.
    """

    def __init__(
        self,
        *,
        workers: int,
        budget: float | None = None,
        error: float | None = None,
        exponent: int | None = None,
        block: int = 512,
        lookup: bool = True,
    ) -> None:
        if exponent is None:
            exponent = 1 if error is None else 2
        if exponent not in (1, 2):
            raise ConfigurationError(f"Invalid exponent={exponent} for codec thc: expected 1 or 2.")
        if block not in _BLOCKS:
            raise ConfigurationError(
                f"Invalid block={block} for codec thc with widths: expected one of {', '.join(map(str, _BLOCKS))}."
            )
        super().__init__(workers=workers, block=_FLAT_BLOCK, lookup=lookup)  # 4 bits fit the most workers
        self.budget = None if budget is None else float(budget)
        self.error, self.exponent, self.fine = error, exponent, block
        self._codecs: dict[int, THC] = {}
        for bits in sorted({bits for bits, _ in OPS}):
            try:
                self._codecs[bits] = THC(workers=workers, bits=bits, block=block, lookup=lookup)
            except ConfigurationError:
                continue  # the lanes do not fit so many workers
        both = budget is not None
        widths = [Width(one.bits, both * one.bits + one.lanes, one.grid.error()) for one in self._codecs.values()]
        ways = list(widths)
        if not both and workers <= MAX_NARROW_WORKERS:
            narrow = self._codecs[_NARROW] = NarrowTHC(workers=workers, block=block)
            ways.append(Width(_NARROW, narrow.lanes, narrow.grid.error()))
        # Gradients of real models are between different and equal vectors.
        self._ladder = Ladder.of(ways, math.sqrt(workers))
        last = self._ladder.widths[-1]
        if budget is not None and not 0 < budget <= last.bits:
            raise ConfigurationError(
                f"Invalid budget={budget} for codec thc with {workers} workers: expected more than 0, at most "
                f"{last.bits} bits."
            )
        if error is not None and not last.error <= error < 1:
            raise ConfigurationError(
                f"Invalid error={error} for codec thc with {workers} workers: expected {last.error:.2g} (of "
                f"{last.bits} bits) to 1."
            )
        known = (Width(0, 0, 1.0), *widths)
        units = _UNITS * np.interp(budget or last.bits, [one.bits for one in known], [one.cost for one in known])
        fits = [one for one in widths if _UNITS * one.cost <= round(units)]
        reach = [one for one in fits if error is not None and one.error <= error]
        self._flat = reach[0] if reach else max(fits, key=lambda one: one.bits, default=None)
        # A norm has 32 bits, uplink and downlink.
        self._budget = None if budget is None else round(units) - 2 * 32 * _UNITS // block
        if self._flat is not None:
            super().__init__(workers=workers, bits=self._flat.bits, block=_FLAT_BLOCK, lookup=lookup)
        # The number of rounds is known after the norms. Normal vectors have the flat plan.
        max_nmse = 1.0 if self._flat is None else self.traits.max_nmse
        self.traits = replace(self.traits, max_nmse=max_nmse, depends_on_past_sums=True)

    @property
    def code_table(self) -> NDArray[np.uint8] | None:
        """Code table of the job, for blocks of 4 bits."""
        return self._codecs[4].code_table

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`."""
        used = sorted({4, _NARROW} & set(self._codecs))
        return (
            f"{super().describe()} budget={self.budget!r} error={self.error!r} exponent={self.exponent} "
            f"fine={self.fine} steps={self._ladder.steps} {' '.join(self._codecs[n].describe() for n in used)}"
        )

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return the rounds of flat ``thc``, with the norms of shorter blocks; others depend on the norms."""
        if size == 0:
            return ()
        norms, codes = super().shapes(size)
        return RoundShape(LaneOp.MAX, norms.words - (-size // self.fine)), codes

    def widths(self, norms: Vector, coarse: Vector, full: int) -> NDArray[np.intp] | None:
        """Return the bits of each block, from the largest norms of all workers; None for the flat plan.

        ``coarse``: the norms of blocks of 4,096. ``full``: number of whole blocks. A shorter one has the flat width, or
        the smallest one, because it costs little.
        """
        ladder, flat = self._ladder, self._flat
        if flat is not None and not full:
            return None
        # One block is always sent, however small the budget of a short vector is.
        budget = None if self._budget is None else max(self._budget * full // _UNITS, ladder.widths[1].cost)
        plan = np.zeros(norms.size, np.intp)
        if full:
            plan[:full] = ladder.plan(norms[:full], self.exponent, budget, self.error or 0)
        least = 1 if flat is None else flat.bits
        if norms[full:].any():
            plan[full:] = next(index for index, one in enumerate(ladder.widths) if one.bits >= least)
        if flat is not None:
            equal = Ladder((flat,)).expected(coarse, np.zeros(coarse.size, np.intp))
            if self.error is not None and flat.error <= self.error:
                worse = ladder.cost(plan[:full]) >= _WORTHWHILE * flat.cost * full
            else:
                worse = ladder.expected(norms, plan) >= _WORTHWHILE * equal
            if worse:
                return None
        return np.array([one.bits for one in ladder.widths])[plan]

    def all_reduce(self, x: Any, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`.

        A round ``norm`` with the norms of all blocks and of blocks of 4,096, then a round for each width, in a group.
        """
        on_device = is_tensor(x)
        x = x if on_device else checked_vector(x, context, self.workers)
        backend = self._backend(x, context)
        if backend is None:
            return (yield from self._on_host(x, context))
        if backend.size == 0:
            return backend.result(True)
        codecs, size = self._codecs, backend.size
        coarse = backend.norms()
        norms = cast(Backend, codecs[4]._backend(x, context)).norms() if on_device else norms_of(x, self.fine, context)
        words = np.concatenate((norms, coarse)).view(np.uint32)
        peaks = checked_peaks((yield Round(LaneOp.MAX, words, label="norm")), RoundShape(LaneOp.MAX, words.size))
        widths = self.widths(peaks[: norms.size], peaks[norms.size :], size // self.fine)
        if widths is None:
            backend.prepare(peaks[norms.size :])
            round_, finish = self.code_round(backend, context)
            return finish((yield round_))
        vector, stream = x, cast(Any, nullcontext)
        if on_device:
            from lanesum.gpu.staging import staging_for
            from lanesum.gpu.tensors import with_error_feedback

            vector, stream = with_error_feedback(x, context), staging_for(x.device).stream
        groups = []
        with stream():
            values, residual = new(vector, size), new(vector, size) if context.keep_residual else None

        def leave_out() -> None:
            """Set the blocks that are not sent."""
            blocks = np.flatnonzero(widths == 0)
            with stream():
                put(0, blocks, self.fine, values)
                if residual is not None:
                    put(picked(vector, blocks, self.fine), blocks, self.fine, residual)

        left_out = Deferred(leave_out)
        for bits, codec in codecs.items():
            blocks = np.flatnonzero(widths == bits)
            if blocks.size:
                # Blocks of different widths have different dithers.
                own = replace(context, seed=context.seed ^ bits, error_feedback=None)
                if on_device:
                    with stream():
                        part = cast(Backend, codec._backend(picked(vector, blocks, self.fine), own))
                else:
                    part = HostBackend(codec.coder, vector, own, blocks.astype(np.uint32), values, residual)
                part.set_norms(norms[blocks])
                part.prepare(peaks[blocks])
                groups.append((blocks, *codec.code_round(part, context)))
        rounds = [round_ for _, round_, _ in groups]
        if rounds:
            works = (left_out, rounds[-1].overlap)
            rounds[-1] = replace(rounds[-1], overlap=lambda: [work() for work in works if work is not None])
        replies = (yield RoundGroup(tuple(rounds))) if rounds else ()
        results = [(blocks, finish(reply)) for (blocks, _, finish), reply in zip(groups, replies, strict=True)]
        left_out()
        if on_device:
            with stream():
                for blocks, result in results:
                    put(result.values, blocks, self.fine, values)
                    if residual is not None:
                        put(result.residual, blocks, self.fine, residual)
        return Result(values, residual)


def thc(
    *,
    workers: int,
    bits: int = 4,
    lanes: int | None = None,
    budget: float | None = None,
    error: float | None = None,
    exponent: int | None = None,
    block: int | None = None,
    lookup: bool = True,
) -> THC:
    """Build the codec ``thc``: a :class:`WidthTHC` with a ``budget`` or an ``error``, else a flat :class:`THC`.

    ``block`` is 512 with widths, else 4,096. Raises ConfigurationError for parameters that exclude each other.
    """
    if budget is None and error is None:
        if exponent is not None:
            raise ConfigurationError("exponent is of widths: codec thc has no budget and no error.", "Set one of them.")
        return THC(workers=workers, bits=bits, lanes=lanes, block=block or _FLAT_BLOCK, lookup=lookup)
    if bits != 4 or lanes is not None:
        raise ConfigurationError(
            f"bits={bits} and lanes={lanes} are of flat codec thc, and budget={budget} and error={error} of widths.",
            "Set either of them.",
        )
    return WidthTHC(workers=workers, budget=budget, error=error, exponent=exponent, block=block or 512, lookup=lookup)


register("thc", thc, optional_lookup=True)
