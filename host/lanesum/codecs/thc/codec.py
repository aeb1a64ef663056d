# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``thc``: Tensor Homomorphic Compression with shared dithers and a norm for every block.

The method is that of the paper (Li et al., NSDI 2024; codec ``thc-paper`` of lanesum-lab), with changes that reduce the
error or the work: docs/codec-thc.md. A block of 4096 has a norm of its own, and fits the first-level cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from lanesum._internal import arrays
from lanesum.codecs.base import (
    Aggregate,
    CodecContext,
    CodecError,
    Members,
    Result,
    Round,
    RoundPieces,
    RoundShape,
    Steps,
    UnencodableError,
    Vector,
    always,
    is_tensor,
    round_in_pieces,
)
from lanesum.codecs.checks import checked_vector, checked_words, refuse_not_finite, uniform_contributors
from lanesum.codecs.kernels.philox import ROUNDS
from lanesum.codecs.norms import checked_peaks
from lanesum.codecs.shards import Shards, as_all_reduce, scattered_round
from lanesum.codecs.thc.backend import Backend, HostBackend
from lanesum.codecs.thc.blocks import BlockCoder, Run, cut
from lanesum.codecs.thc.grid import Grid, best_grid, best_of
from lanesum.codecs.thc.reference import MIN_BLOCK, digit_base
from lanesum.codecs.traits import CodecTraits
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp

#: Operations by bits of a code and of a lane. TABLE8 becomes EXPAND8 if no table reduces the error.
OPS = {
    (3, 8): LaneOp.EXPAND3TO8,
    (4, 8): LaneOp.TABLE8,
    (4, 16): LaneOp.EXPAND16,
    (5, 8): LaneOp.EXPAND5TO8,
    (8, 16): LaneOp.EXPAND8TO16,
}
#: With more workers the random bits of missing ones would dominate the work of a quorum round.
MAX_WORKERS = 1024
#: Largest block, which is a power of two.
MAX_BLOCK = 1 << 16
#: Maximum sum in a lane, by bits of a lane. Lanes of 16 bits reserve some range for the sum of dithers.
LANE_MAX = {8: 255, 16: 65535 - 255}


class THC:
    """THC for at most ``workers`` workers, up to 1,024.

    ``bits``: 3, 4, 5 or 8 bits of a code on the uplink. ``lanes``: 8 or 16 bits of a lane on the downlink; None for the
    narrowest that fits the sum. ``block``: coordinates with one norm and one rotation, a power of two from 32 to 65536.
    ``lookup``: aggregation points may look codes up in a table (TABLE8), if that reduces the error. Without it they add
    the codes themselves (EXPAND8), which more switches support. ``for_adaptive``: codec of the same ``block`` in place
    of this one where a worker has an adaptive optimizer; a last word of the first round tells all workers.

    Raises ConfigurationError for invalid combinations. The codec is stateless. Wrap it in
    :class:`lanesum.codecs.error_feedback.ErrorFeedback` to carry clamping and rounding errors over.

    Wire: one word per block, uplink and downlink (MAX), then ``bits`` uplink and ``lanes`` downlink bits per padded
    coordinate.
    """

    name = "thc"

    def __init__(
        self,
        *,
        workers: int,
        bits: int = 4,
        lanes: int | None = None,
        block: int = 4096,
        lookup: bool = True,
        for_adaptive: THC | None = None,
    ) -> None:
        if not 1 <= workers <= MAX_WORKERS:
            raise ConfigurationError(
                f"Invalid workers={workers} for codec thc: expected an integer from 1 to {MAX_WORKERS}."
            )
        if not MIN_BLOCK <= block <= MAX_BLOCK or block & (block - 1):
            raise ConfigurationError(
                f"Invalid block={block} for codec thc: expected a power of two from {MIN_BLOCK} to {MAX_BLOCK}."
            )
        self.workers = workers
        self.block = block
        self.for_adaptive = for_adaptive
        width = _lane_bits(bits, lanes, workers)
        op = OPS[bits, width]
        grid = best_grid(bits, workers, LANE_MAX[width], lookup and op is LaneOp.TABLE8)
        self._set(LaneOp.EXPAND8 if op is LaneOp.TABLE8 and grid.uniform else op, grid)

    def _set(self, op: LaneOp, grid: Grid, per_word: int | None = None) -> None:
        self.op, self.grid = op, grid
        self.traits = CodecTraits(
            unbiased=True,
            accepts_device_tensors=True,
            adds_error_feedback=True,
            scatters=True,
            follows_optimizer=self.for_adaptive is not None,
            max_nmse=1.1 * grid.error(),
        )
        #: Arithmetic of the codec on runs of blocks.
        self.coder = BlockCoder(grid, op, self.block, per_word)
        self.bits, self.lanes = self.coder.code_bits, self.coder.lane_bits

    @property
    def code_table(self) -> NDArray[np.uint8] | None:
        """Code table of the job (16 entries), or None if codes are not looked up."""
        return np.array(self.grid.levels, dtype=np.uint8) if self.op is LaneOp.TABLE8 else None

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`."""
        levels = f"0..{self.grid.granularity}" if self.grid.uniform else ",".join(map(str, self.grid.levels))
        return (
            f"{self.name} workers={self.workers} op={self.op.name} levels={levels} "
            f"limit={self.grid.limit!r} block={self.block} bits={self.bits} philox={ROUNDS}"
        ) + ("" if self.for_adaptive is None else f" for_adaptive={crc32(self.for_adaptive.describe().encode())}")

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return one MAX word per block, and the words of the codes; no round for an empty vector.

        The codes are of this codec, not of ``for_adaptive``.
        """
        if size == 0:
            return ()
        blocks = -(-size // self.block)
        words = Run(0, blocks, size, self.block).words(self.coder.code_bits).stop
        return RoundShape(LaneOp.MAX, blocks + (self.for_adaptive is not None)), RoundShape(self.op, words)

    def _suited(self, adaptive: bool) -> THC:
        """Return this codec, or ``for_adaptive`` for gradients of an adaptive optimizer."""
        return self.for_adaptive if adaptive and self.for_adaptive is not None else self

    def all_reduce(self, x: Any, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`; two rounds, ``norm`` and ``codes``.

        ``x`` may be a PyTorch tensor of a device; ``context.error_feedback`` is added to it there. On the host the
        residual overlaps the code round.
        """
        if context.scattered:
            shards = None if is_tensor(x) else Shards.of(x.size, self.block, context)
            if shards is None:
                return (yield from as_all_reduce(self, x, context))
            return (yield from self._reduce_scatter(x, shards, context))
        expected = self._suited(context.adaptive)
        backend = expected._backend(x, context)
        if backend is None:
            return (yield from self._on_host(x, context))
        if backend.size == 0:
            return backend.result(True)
        norms = backend.norms()
        flag = [] if self.for_adaptive is None else [context.adaptive]
        words = np.append(norms, np.array(flag, np.float32)).view(np.uint32)
        peaks = checked_peaks((yield Round(LaneOp.MAX, words, label="norm")), RoundShape(LaneOp.MAX, words.size))
        codec = self._suited(bool(peaks[norms.size :].any()))
        if codec is not expected:  # another worker has an adaptive optimizer
            backend = cast(Backend, codec._backend(x, context))
        backend.prepare(norms, peaks[: norms.size])
        round_, finish = codec.code_round(backend, context)
        return finish((yield round_))

    def _reduce_scatter(self, x: Vector, shards: Shards, context: CodecContext) -> Steps:
        """Encode all shards, and decode the sum of this worker's one."""
        vector = shards.pad(checked_vector(x, context, self.workers))
        if vector is not x:
            context = replace(context, in_place=True)
        backend = HostBackend(self.coder, vector, context)
        try:
            norms = backend.norms()
        except UnencodableError:
            if not np.isfinite(x).all():
                refuse_not_finite(x, context)  # names the element without the padding
            raise
        reply = yield Round(LaneOp.MAX, norms.view(np.uint32), label="norm")
        backend.prepare(norms, checked_peaks(reply, RoundShape(LaneOp.MAX, norms.size)))
        runs = cut(shards.padded, self.block, backend.runs[0].stop * self.block // shards.count)

        def encode(number: int) -> None:
            for shard in range(shards.count):
                backend.encode_run(runs[number].of_shard(shard, shards.count))

        def decode(number: int, lanes: NDArray[np.uint32]) -> None:
            backend.decode_run(runs[number].of_shard(shards.own, shards.count), lanes)

        ends = [run.words(self.coder.code_bits).stop for run in runs]
        pieces = RoundPieces(encode, decode, ends, self.op.shape)
        reply = yield scattered_round(context, self.op, backend.codes, "codes", pieces, backend.own_residual)
        sums = checked_words(reply, RoundShape(self.op, ends[-1]))
        pieces.decode_up_to(sums.size, sums)
        values = arrays.empty(shards.size, np.float32)
        values[:] = backend.values[shards.own * shards.padded :][: shards.size]
        residual = backend.result(reply.included).residual
        return Result(values, None if residual is None else shards.unpad(residual))

    def code_round(self, backend: Backend, context: CodecContext) -> tuple[Round, Callable[[Aggregate], Result]]:
        """Return the round ``codes`` of a prepared backend, and the function that decodes its aggregate."""
        ends = [run.words(self.coder.code_bits).stop for run in backend.runs]
        pieces = RoundPieces(backend.encode, backend.decode, ends, self.op.shape)

        def finish(reply: Aggregate) -> Result:
            sums = checked_words(reply, RoundShape(self.op, ends[-1]))
            members = missing_members(reply, context)
            if members is None:
                pieces.decode_up_to(sums.size, sums)
            else:
                backend.decode_members(sums, members)
            return backend.result(reply.included)

        own = backend.own_residual
        return round_in_pieces(context, self.op, backend.codes, "codes", pieces, own, always), finish

    def _backend(self, x: Any, context: CodecContext) -> Backend | None:
        """Return the backend for ``x``; None for a device without kernels, or for longer blocks than theirs."""
        if not is_tensor(x):
            return HostBackend(self.coder, checked_vector(x, context, self.workers), context)
        from lanesum.codecs.tensors import checked_tensor, codec_accepts
        from lanesum.codecs.thc.device import MAX_BLOCK as MAX_DEVICE_BLOCK
        from lanesum.codecs.thc.device import DeviceBackend

        x = checked_tensor(x, context, self.workers)
        has_kernels = codec_accepts(self, x.device) and self.block <= MAX_DEVICE_BLOCK
        return DeviceBackend(self.coder, x, context) if has_kernels else None

    def _on_host(self, x: Any, context: CodecContext) -> Steps:
        from lanesum.codecs.tensors import copy_and_make_steps, with_error_feedback

        return copy_and_make_steps(self, with_error_feedback(x, context), replace(context, error_feedback=None))


class DigitTHC(THC):
    """THC whose codes are digits of words, ``per_word`` coordinates in each, which ADD32 adds without a carry.

    The base is the largest one of so many digits, and the grid the finest whose sum over the workers is a digit. So
    uplink and downlink have the same bits, and every switch supports it. Raises ConfigurationError for fewer than two
    levels.
    """

    def __init__(self, *, workers: int, per_word: int, block: int = 4096) -> None:
        super().__init__(workers=workers, block=block, lookup=False)
        granularity = min(255, (digit_base(per_word) - 1) // workers)  # kernels have a byte for each code
        if granularity < 1:
            raise ConfigurationError(f"Words of {per_word} digits do not hold the sums of {workers} workers.")
        self._set(LaneOp.ADD32, best_of([tuple(range(granularity + 1))], workers), per_word)


def missing_members(reply: Aggregate, context: CodecContext) -> Members | None:
    """Return the contributors of the sums, None for all workers. Raises CodecError if missing ones are not named."""
    if reply.members is None:
        if uniform_contributors(reply) != context.workers:
            raise CodecError(
                f"A sum of {context.tensor!r} lacks some of {context.workers} workers, and does not say which.",
                "Codec thc requires Aggregate.members where a quorum leaves workers out.",
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
    """Return the bits of the lanes. Raises ConfigurationError with the combinations that fit, if this one does not."""
    widths = sorted(width for code, width in OPS if code == bits and wanted in (None, width))
    if not widths:
        known = ", ".join(f"bits={code} with lanes={width}" for code, width in OPS)
        where = "" if wanted is None else f" and lanes={wanted}"
        raise ConfigurationError(f"Invalid bits={bits}{where} for codec thc.", f"Supported: {known}.")
    max_workers = {key: min(MAX_WORKERS, LANE_MAX[key[1]] // (2 ** key[0] - 1)) for key in OPS}
    for width in widths:
        if workers <= max_workers[bits, width]:
            return width
    width, granularity = widths[-1], 2**bits - 1
    fits = [f"bits={code} with lanes={lanes}" for (code, lanes), limit in max_workers.items() if workers <= limit]
    raise ConfigurationError(
        f"g={granularity} x {workers} workers = {granularity * workers} exceeds the {LANE_MAX[width]} of a {width}-bit "
        "lane:",
        f"use at most {max_workers[bits, width]} workers, or {', or '.join(fits)}.",
    )
