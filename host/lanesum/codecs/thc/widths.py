# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``thc`` with a width for each block: one round of codes for each width, all at once, on the blocks of that width.

After the round of norms all workers have the same norms, so they agree on the widths without another word
(:mod:`lanesum.codecs.thc.allocation`). Blocks of one width are encoded and decoded as by flat ``thc``. The mean of a
block that is not sent is zero, and error feedback keeps it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any, cast
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from lanesum._internal.deferred import Deferred
from lanesum.codecs.base import CodecContext, Result, Round, RoundGroup, RoundShape, Steps, Vector, is_tensor
from lanesum.codecs.checks import checked_vector
from lanesum.codecs.norms import checked_peaks, norms_of
from lanesum.codecs.registry import register
from lanesum.codecs.thc.allocation import Ladder, Width
from lanesum.codecs.thc.backend import Backend, HostBackend
from lanesum.codecs.thc.blocks import num_words
from lanesum.codecs.thc.codec import OPS, THC, DigitTHC
from lanesum.codecs.thc.reference import new, picked, put
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp

# Coordinates of a block of the flat plan, a multiple of every shorter block.
_FLAT_BLOCK = 4096
_BLOCKS = (256, 512, 1024, 2048, 4096)
# Widths pay for their shorter blocks and copies if they reduce the expected error, or the bytes, to this share.
_LESS_ERROR, _FEWER_BYTES = 0.75, 0.9
_PER_WORD = range(16, 2, -1)  # coordinates of a word of digits; with fewer, lanes of 16 bits are as good
_ADAPTIVE = 0.25  # share of an error for adaptive optimizers, by the losses of trainings
_UNITS = 1024  # of a budget, in a word of a block, so that all workers compute the same one


class WidthTHC(THC):
    """THC with a width for each block of ``block`` coordinates; at least one of ``budget`` and ``error``.

    A block has codes of 3, 4, 5 or 8 bits, or digits of words (:class:`DigitTHC`), or is not sent.

    ``budget``: the bytes, uplink and downlink, with the norms, are at most those of flat ``thc`` with so many bits.
    ``error``: NMSE of vectors of workers that differ, to reach with the fewest bytes on the downlink, the busier
    direction. A budget goes first, and counts both. The energy of the mean follows from the norms of all workers, which
    the first round exchanges; gradients that have something in common have a smaller error.
    ``exponent``: 1 or 2, of the norm in the weight of a block. 2 has the least error for its bytes. 1 leaves more bits
    to small gradients, which adaptive optimizers scale up; with an ``error`` it also bounds the relative error of
    blocks. None: 1 for a ``budget`` alone. For an ``error`` 2; where a worker has an adaptive optimizer 1, and a
    quarter of the ``error``, as far as there is a width for it.
    ``lookup``: as for :class:`THC`.

    Where the norms have too little structure, all blocks have 4,096 coordinates and the best width within the budget,
    or the cheapest one of the error: the attributes of the base class. Raises ConfigurationError for a budget or an
    error that no width reaches.
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
        follows = exponent is None and error is not None
        exponent = (2 if follows else 1) if exponent is None else exponent
        if exponent not in (1, 2):
            raise ConfigurationError(f"Invalid exponent={exponent} for codec thc: expected 1 or 2.")
        if block not in _BLOCKS:
            raise ConfigurationError(
                f"Invalid block={block} for codec thc with widths: expected one of {', '.join(map(str, _BLOCKS))}."
            )
        super().__init__(workers=workers, block=_FLAT_BLOCK, lookup=lookup)  # 4 bits fit the most workers
        self.budget = None if budget is None else float(budget)
        self.error, self.exponent, self.fine = error, exponent, block
        makers: list[Callable[..., THC]] = [
            *(partial(THC, bits=bits, lookup=lookup) for bits in sorted({bits for bits, _ in OPS})),
            *(partial(DigitTHC, per_word=number) for number in _PER_WORD),
        ]
        known: list[tuple[float, int]] = [(0, 0)]
        ways: list[Width] = []
        found: list[tuple[THC, Callable[..., THC]]] = []
        for make in makers:
            try:
                one = make(workers=workers, block=block)
            except ConfigurationError:
                continue  # the lanes do not fit so many workers
            up, down = (num_words(block, bits) for bits in (one.bits, one.lanes))
            if one.op is not LaneOp.ADD32:
                known.append((float(one.bits), up + down))
            ways.append(Width(len(found), up * (budget is not None) + down, one.grid.error()))
            found.append((one, make))
        # Gradients of real models are between different and equal vectors.
        self._ladder = Ladder.of(ways, math.sqrt(workers))
        self._codecs = [found[width.number][0] for width in self._ladder.widths[1:]]
        max_bits, least_error = known[-1][0], self._ladder.widths[-1].error
        if budget is not None and not 0 < budget <= max_bits:
            wanted = f"expected more than 0, at most {max_bits:g} bits"
            raise ConfigurationError(f"Invalid budget={budget} for codec thc with {workers} workers: {wanted}.")
        if error is not None and not least_error <= error < 1:
            wanted = f"expected {least_error:.2g} to 1"
            raise ConfigurationError(f"Invalid error={error} for codec thc with {workers} workers: {wanted}.")
        # Words of a block. A norm is one, uplink and downlink.
        units = math.inf if budget is None else round(_UNITS * np.interp(budget, *np.array(known).T))
        self._budget = None if budget is None else int(units) - 2 * _UNITS
        fits = [one for one in ways if _UNITS * one.cost <= units]
        reach = [one for one in fits if error is not None and one.error <= error]
        self._flat = min(reach or fits, key=lambda one: one.cost if reach else one.error, default=None)
        if self._flat is not None:
            flat = found[self._flat.number][1](workers=workers, block=_FLAT_BLOCK)
            self._set(flat.op, flat.grid, flat.coder.per_word)
        # Words of the first round for the norm of each worker, for an error; and for the optimizer.
        self._own_norms = 0 if error is None else workers + follows
        if follows and error is not None:
            less = max(error * _ADAPTIVE, least_error)
            own = WidthTHC(workers=workers, budget=budget, error=less, exponent=1, block=block, lookup=lookup)
            own._own_norms = self._own_norms
            self.for_adaptive = own
        # The number of rounds is known after the norms. Normal vectors have the flat plan.
        # A block that is not sent is biased.
        self.traits = replace(
            self.traits,
            unbiased=False,
            follows_optimizer=follows,
            scatters=False,
            max_nmse=self.traits.max_nmse if self._flat else 1.0,
            depends_on_past_sums=True,
        )

    @property
    def code_table(self) -> NDArray[np.uint8] | None:
        """Code table of the job, if any width has one."""
        return next((one.code_table for one in self._codecs if one.code_table is not None), super().code_table)

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`."""
        widths = repr([self._ladder.steps, *(one.describe() for one in self._codecs)])
        asked = f"budget={self.budget!r} error={self.error!r} exponent={self.exponent}"
        return f"{super().describe()} {asked} fine={self.fine} widths={crc32(widths.encode())}"

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return the rounds of flat ``thc``, with the norms of shorter blocks; others depend on the norms."""
        if size == 0:
            return ()
        norms, codes = super().shapes(size)
        # Both counts have the word of the optimizer.
        words = norms.words - (-size // self.fine) + self._own_norms - (self.for_adaptive is not None)
        return RoundShape(LaneOp.MAX, words), codes

    def widths(
        self, norms: Vector, coarse: Vector, full: int, energy: float | None = None
    ) -> tuple[NDArray[np.intp] | None, float]:
        """Return the number of the width of each block, from the largest norms of all workers; None for the flat plan.

        Number 0 is a block that is not sent. ``coarse``: the norms of blocks of 4,096. ``full``: number of whole
        blocks; the budget is theirs. ``energy``: mean squared norm of the workers; by default that of the ``norms``.
        The second value is the expected squared error, in the unit of the energy.
        """
        ladder, flat = self._ladder, self._flat
        equal = 0.0 if flat is None else Ladder((flat,)).expected(coarse, np.zeros(coarse.size, np.intp))
        if flat is not None and not full:
            return None, equal
        # One block is always sent, however small the budget of a short vector is.
        given = None if self._budget is None else self._budget * full // _UNITS - 2 * self._own_norms
        budget = None if given is None else max(given, ladder.widths[1].cost)
        wide = norms.astype(np.float64)
        total = float(np.add.accumulate(wide * wide)[-1])
        wanted = (self.error or 0) * (total if energy is None else energy)
        plan = ladder.plan(norms, self.exponent, budget, wanted / total if total else 0)
        expected = ladder.expected(norms, plan)
        if flat is not None:
            if self.error is not None and equal <= wanted:
                worse = ladder.cost(plan) >= _FEWER_BYTES * flat.cost * norms.size
            else:
                worse = expected > wanted and expected >= _LESS_ERROR * equal
            if worse:
                return None, equal
        return plan, expected

    def all_reduce(self, x: Any, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`.

        A round ``norm`` with the norms of all blocks and of blocks of 4,096, then a round for each width, in a group.
        For an ``error`` it has the norm of each worker, too, in a word of its own. With ``for_adaptive`` a last word is
        1 if a worker has an adaptive optimizer.
        """
        on_device = is_tensor(x)
        x = x if on_device else checked_vector(x, context, self.workers)
        guess = self._suited(context.adaptive)
        backend = guess._backend(x, context)
        if backend is None:
            return (yield from self._on_host(x, context))
        if backend.size == 0:
            return backend.result(True)
        size, first = backend.size, self._codecs[0]
        coarse = backend.norms()
        norms = cast(Backend, first._backend(x, context)).norms() if on_device else norms_of(x, self.fine, context)
        own_norms = np.zeros(self._own_norms, np.float32)
        own_norms[context.worker : context.worker + 1] = _norm_of(norms)
        own_norms[context.workers :] = context.adaptive
        words = np.concatenate((norms, coarse, own_norms)).view(np.uint32)
        peaks = checked_peaks((yield Round(LaneOp.MAX, words, label="norm")), RoundShape(LaneOp.MAX, words.size))
        peaks, coarse_peaks, all_norms = np.split(peaks, (norms.size, norms.size + coarse.size))
        squares = all_norms[: context.workers].astype(np.float64) ** 2
        energy = float(np.add.accumulate(squares)[-1]) / context.workers if squares.size else None
        suited = cast(WidthTHC, self._suited(bool(all_norms[context.workers :].any())))
        widths, expected = suited.widths(peaks, coarse_peaks, size // self.fine, energy)

        def told(result: Result) -> Result:
            """Return the result with its errors."""
            if energy is None:
                return result
            estimated = None if on_device else _estimate(result.values, expected / context.workers, context)
            return replace(result, max_error=expected / energy if energy else 0.0, estimated_error=estimated)

        if widths is None:
            if suited is not guess:
                backend = cast(Backend, suited._backend(x, context))
            backend.prepare(coarse, coarse_peaks)
            round_, finish = suited.code_round(backend, context)
            return told(finish((yield round_)))
        vector, stream = x, cast(Any, nullcontext)
        if on_device:
            from lanesum.codecs.tensors import with_error_feedback
            from lanesum.gpu.staging import staging_for

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
        for number, codec in enumerate(suited._codecs, 1):
            blocks = np.flatnonzero(widths == number)
            if blocks.size:
                # Blocks of different widths have different dithers.
                own = replace(context, seed=context.seed ^ number, error_feedback=None)
                if on_device:
                    with stream():
                        part = cast(Backend, codec._backend(picked(vector, blocks, self.fine), own))
                else:
                    part = HostBackend(codec.coder, vector, own, blocks.astype(np.uint32), values, residual)
                part.prepare(norms[blocks], peaks[blocks])
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
        return told(Result(values, residual))


def _norm_of(norms: Vector) -> np.float32:
    """Return the norm of a vector with these norms of its blocks, at most the largest number."""
    return np.float32(min(float(np.linalg.norm(norms.astype(np.float64))), float(np.finfo(np.float32).max)))


def _estimate(values: Vector, squared_error: float, context: CodecContext) -> float:
    """Return the NMSE of decoded ``values`` whose mean has an expected squared error."""
    decoded = float(np.linalg.norm(values)) ** 2 / (1 if context.average else context.workers**2)
    energy = max(decoded - squared_error, squared_error)  # errors add their energy to that of the mean
    return squared_error / energy if energy else 0.0


def thc(
    *,
    workers: int,
    bits: int | None = None,
    lanes: int | None = None,
    budget: float | None = None,
    error: float | None = None,
    exponent: int | None = None,
    block: int | None = None,
    lookup: bool = True,
) -> THC:
    """Build the codec ``thc``: a :class:`WidthTHC` with a ``budget`` or an ``error``, else a flat :class:`THC`.

    ``bits`` is 4; for gradients of adaptive optimizers the sum of the codes uses the whole lane, and the uplink has as
    many bits as that takes, at most 8. ``block`` is 512 with widths, else 4,096. Raises ConfigurationError for
    parameters that exclude each other.
    """
    block = (_FLAT_BLOCK if budget is None and error is None else 512) if block is None else block
    if budget is None and error is None:
        if exponent is not None:
            raise ConfigurationError("exponent is of widths: codec thc has no budget and no error.", "Set one of them.")
        own = 4 if bits is None else bits
        build = partial(THC, workers=workers, bits=own, lanes=lanes, block=block, lookup=lookup)
        return build(for_adaptive=_whole_lanes(build()) if bits is None else None)
    if bits not in (None, 4) or lanes is not None:
        raise ConfigurationError(
            f"bits={bits or 4} and lanes={lanes} are of flat codec thc, and budget={budget} and error={error} of "
            "widths.",
            "Set either of them.",
        )
    return WidthTHC(workers=workers, budget=budget, error=error, exponent=exponent, block=block, lookup=lookup)


def _whole_lanes(flat: THC) -> THC | None:
    """Return the codec of least error with the blocks and the downlink bits of ``flat``; None if it is ``flat``."""
    shared = {"workers": flat.workers, "block": flat.block}
    makers: list[Callable[..., THC]] = [
        *(partial(THC, bits=bits, lanes=lanes, lookup=False) for bits, lanes in OPS if lanes == flat.lanes),
        *([partial(DigitTHC, per_word=4)] if flat.lanes == 8 else []),
    ]
    found = []
    for make in makers:
        with suppress(ConfigurationError):  # the lanes do not fit so many workers
            found.append(make(**shared))
    best = min(found, key=lambda one: (one.grid.error(), one.bits))
    return best if best.grid.error() < flat.grid.error() else None


register("thc", thc, optional_lookup=True)
