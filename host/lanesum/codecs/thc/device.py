# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``thc`` on a vector of a device: the same rounds and words as on the host, made by kernels.

All kernels of a round, and the copies of their results, are launched at once. The communication thread then waits for
one piece after the other. The residual is computed together with the codes, before they are sent. The host computes two
rare cases of a quorum: sums that lack some workers, and residuals of words that were left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray

from lanesum.aggregation.combine import Words
from lanesum.codecs.base import CodecContext, Members, Result, Vector
from lanesum.codecs.kernels.philox import sign_words
from lanesum.codecs.kernels.reference import SUM_BLOCK, SUM_LANES
from lanesum.codecs.norms import checked_norms
from lanesum.codecs.tensors import with_error_feedback
from lanesum.codecs.thc.backend import HostBackend
from lanesum.codecs.thc.blocks import BlockCoder, Run, cut, num_words
from lanesum.codecs.thc.dither import dither_offset, dither_sum
from lanesum.codecs.thc.grid import outer_levels
from lanesum.codecs.thc.reference import digit_base
from lanesum.gpu.availability import require
from lanesum.gpu.staging import StreamEvent, staging_for, to_host

#: Largest block: a larger one does not fit the registers of a program.
MAX_BLOCK = 1 << 14
# Coordinates of a piece of a round. A launch takes tens of microseconds; a fast network sends half a piece meanwhile.
_PIECE = 1 << 22
# Words of digits that a program makes or reads.
_DIGITS_TILE = 512
# Steps that the kernel of square sums unrolls, see lanesum.codecs.kernels.reference.square_sums.
_SUM_UNROLL = 8
#: Constants of the kernel that sums squares: parts of a program, and options of the compiler.
SQUARE_SUMS = {"PARTS": 16, "num_warps": 4, "enable_fp_fusion": False}
# Values of a block for each warp, and registers of each thread, of which 255 is the hardware's limit. Fewer warps per
# block exchange fewer values through shared memory, which limits both kernels. Encoding keeps the values until it has
# computed the residual, so one warp per block of 4,096 would spill.
_ENCODING = (2048, 255)
_DECODING = (4096, 255)


class _Kernel(Protocol):
    """A Triton kernel; indexed by a grid, it is a function that launches it."""

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., object]: ...


@dataclass(frozen=True)
class Launches:
    """Constants and grids of the kernels for a codec; ``coder`` has the same arithmetic on the host."""

    coder: BlockCoder

    def _block(self, per_warp: int, registers: int) -> dict[str, Any]:
        """Return constants of kernels for one block, and compiler options: products and sums must not be fused."""
        block = self.coder.block
        groups = max(1, block // 64)
        shape = {"BLOCK": block, "GROUPS": groups, "STAGES": groups.bit_length() - 1}
        options = {"num_warps": max(1, block // per_warp), "enable_fp_fusion": False}
        if torch.version.hip is None:
            options["maxnreg"] = registers
        return {**shape, "LANE": self.coder.unpacked_bits, **options}

    @cached_property
    def decode(self) -> dict[str, Any]:
        """Constants of the kernel that decodes."""
        return self._block(*_DECODING)

    @cached_property
    def encode(self) -> dict[str, Any]:
        """Constants of the kernel that encodes."""
        grid, shape = self.coder.grid, self.coder.op.shape
        # The kernel counts the integers left out from either end.
        left_out = grid.granularity + 1 - len(grid.levels)
        assert grid.uniform or grid.levels == outer_levels(shape.code_bits, grid.granularity)
        missing = set(range(grid.granularity + 1)) - set(grid.levels)
        return {
            **self._block(*_ENCODING),
            "GRANULARITY": grid.granularity,
            "MISSING": sum(1 << integer for integer in missing),
            "LOW": (left_out + 1) // 2,
            "HIGH": left_out // 2,
            "CODE": shape.code_bits,
            "PLANES": shape.planes,
            "LANE": shape.lane_bits,
        }

    def parts(self, run: Run) -> list[tuple[int, int, int, bool]]:
        """Return the launches of a run: first block, number of blocks, coordinates of each, and the mask flag.

        The last block of a run may be shorter than the others, and needs a launch with masks.
        """
        block = self.coder.block
        whole = run.values.stop // block
        parts = []
        if whole > run.first:
            parts.append((run.first, whole - run.first, block, block < 64))
        if whole < run.stop:
            parts.append((whole, 1, run.padded.stop - whole * block, True))
        return parts


class DeviceBackend:
    """One all-reduce of a tensor that ``lanesum.codecs.tensors.checked_tensor`` has returned."""

    # All work is launched before the rounds.
    own_residual: Callable[[], Any] | None = None

    def __init__(self, coder: BlockCoder, vector: torch.Tensor, context: CodecContext) -> None:
        require(vector.device)
        from lanesum.codecs.kernels.device import as_int32, keys
        from lanesum.codecs.thc import device_kernels

        self.size = vector.numel()
        self.runs = cut(self.size, coder.block, _PIECE)
        self._kernels = device_kernels
        self._coder = coder
        self._launches = Launches(coder)
        self._vector = vector
        self._context = context
        self._staging = staging_for(vector.device)
        self._sum_part = min(coder.block, SUM_BLOCK)
        self._random_key = (as_int32(context.round), *keys(context.seed))
        self._as_int32 = as_int32
        with self._staging.stream():
            self._values = torch.empty_like(vector)
            self._residual = torch.empty_like(vector) if context.keep_residual else None

    def norms(self) -> Vector:
        coder, part = self._coder, self._sum_part
        parts = -(-self.size // part)
        with self._staging.stream():
            sums = torch.empty(parts, dtype=torch.float64, device=self._vector.device)
            self.launch_square_sums(sums)
            pinned = self._staging.empty_pinned(parts, torch.float64)
            copied = self._staging.copy_to_host(sums, pinned)
        copied.synchronize()
        per_block = coder.block // part
        whole = np.zeros((-(-parts // per_block), per_block))
        whole.reshape(-1)[:parts] = pinned.numpy()
        totals = np.ascontiguousarray(np.add.accumulate(whole, axis=1)[:, -1])
        return checked_norms(totals, coder.block, self._context, self.size, self._on_host)

    def prepare(self, norms: Vector, peaks: Vector) -> None:
        """Launch the encoding of all runs."""
        coder, context = self._coder, self._context
        self._norms, self._peaks = norms, peaks
        known = (
            *coder.factors(norms, peaks),
            coder.scales(self.size, peaks, 1),
            coder.scales(self.size, peaks, context.divisor),
            sign_words(coder.block, context.seed, context.round & 0xFFFFFFFF).view(np.float32),
        )
        summed = dither_sum(context.workers, coder.grid.granularity)
        self._dither_sum = (summed.multiplier, self._as_int32(summed.constant))
        pinned = self._staging.empty_pinned(self.runs[-1].words(coder.code_bits).stop, torch.int32)
        self.codes = pinned.numpy().view(np.uint32)
        self._encoded: list[StreamEvent] = []
        with self._staging.stream():
            parameters = self._staging.copy_to_device(np.concatenate(known))
            *own, self._scales, signs = parameters.split([one.size for one in known])  # type: ignore[no-untyped-call]
            self._own, self._signs = own, signs.view(torch.int32)
            codes = torch.empty(self._unpacked(self.runs[-1]).stop, dtype=torch.int32, device=self._vector.device)
            words = torch.empty(pinned.numel(), dtype=torch.int32, device=codes.device) if coder.per_word else codes
            for run in self.runs:
                self.launch_encode(run, codes)
                part = run.words(coder.code_bits)
                if coder.per_word:
                    self._launch_digits("pack_digits", run, codes[self._unpacked(run)].view(torch.uint8), words[part])
                self._encoded.append(self._staging.copy_to_host(words[part], pinned[part]))

    def _unpacked(self, run: Run) -> slice:
        """Return the range of the words of codes that the kernel of ``encode`` writes."""
        return run.words(self._coder.op.shape.code_bits)

    def _launch_digits(self, kernel: str, run: Run, *tensors: torch.Tensor, **constants: int) -> None:
        """Launch a kernel that packs or unpacks digits on the tensors of a run: first it reads, then writes them."""
        per_word = self._coder.per_word
        assert per_word
        launch: _Kernel = getattr(self._kernels, kernel)
        digits = kernel == "unpack_digits"
        for first, blocks, length, _ in self._launches.parts(run):
            # Blocks before the first one of this launch are full.
            width, before = num_words(length, self._coder.code_bits), first - run.first
            full = num_words(self._coder.block, self._coder.code_bits) * before, self._coder.block * before
            begin = full if digits else full[::-1]
            launch[(blocks, -(-width // _DIGITS_TILE))](
                tensors[0][begin[0] :], tensors[1][begin[1] :], length, width,
                PER_WORD=per_word, BASE=digit_base(per_word), TILE=_DIGITS_TILE, **constants,
            )  # fmt: skip

    def launch_square_sums(self, sums: torch.Tensor) -> None:
        """Launch the kernel alone, in the current stream: ``sums`` (float64) of the squares of parts."""
        feedback, part = self._context.error_feedback, self._sum_part
        launch: _Kernel = self._kernels.square_sums
        launch[(-(-sums.numel() // SQUARE_SUMS["PARTS"]),)](
            self._vector, self._vector if feedback is None else feedback, sums, self.size,
            PART=part, UNROLL=min(_SUM_UNROLL, part // SUM_LANES), FEEDBACK=feedback is not None, **SQUARE_SUMS,
        )  # fmt: skip

    def launch_encode(self, run: Run, made: torch.Tensor) -> None:
        """Launch the kernel that writes a run's words to those of the round (``made``, int32); after ``prepare``."""
        context, vector = self._context, self._vector
        feedback, residual = context.error_feedback, self._residual
        offset, flip = dither_offset(context.worker, context.workers), context.worker & 1
        launch: _Kernel = self._kernels.encode
        for first, blocks, length, masked in self._launches.parts(run):
            launch[(blocks,)](
                vector, vector if feedback is None else feedback, made, vector if residual is None else residual,
                *self._own, self._signs, self.size, first, length, *self._random_key, offset, flip,
                FEEDBACK=feedback is not None, RESIDUAL=residual is not None, MASKED=masked, **self._launches.encode,
            )  # fmt: skip

    def encode(self, number: int) -> None:
        self._encoded[number].synchronize()

    def decode(self, number: int, lanes: Words) -> None:
        run, bits = self.runs[number], self._coder.unpacked_bits
        with self._staging.stream():
            sums = self._staging.copy_to_device(lanes.view(np.int32))
            if self._coder.per_word:
                kind = torch.uint8 if bits == 8 else torch.int16
                unpacked = torch.empty(run.padded.stop - run.padded.start, dtype=kind, device=sums.device)
                self._launch_digits("unpack_digits", run, sums, unpacked, LANE=bits)
                sums = unpacked.view(torch.int32)
            self.launch_decode(run, sums)

    def launch_decode(self, run: Run, lanes: torch.Tensor) -> None:
        """Launch the kernel that decodes all workers' sums of a run (int32 words) to values."""
        launch: _Kernel = self._kernels.decode
        for first, blocks, length, masked in self._launches.parts(run):
            begin = (first - run.first) * self._coder.block * self._coder.unpacked_bits // 32
            launch[(blocks,)](
                lanes[begin:], self._values, self._scales, self._signs,
                self.size, first, length, *self._random_key, *self._dither_sum, MASKED=masked, **self._launches.decode,
            )  # fmt: skip

    def decode_members(self, sums: Words, members: Members) -> None:
        host = self._host
        host.decode_members(sums, members)
        with self._staging.stream():
            self._staging.copy_to_device(host.values, self._values)

    def result(self, included: bool | NDArray[np.bool_]) -> Result:
        if self._residual is not None and self.size and not np.all(included):
            with self._staging.stream():
                self._staging.copy_to_device(self._host.residual(included), self._residual)
        return Result(cast(Any, self._values), cast(Any, self._residual))

    def _on_host(self) -> Vector:
        return to_host(with_error_feedback(self._vector, self._context))

    @cached_property
    def _host(self) -> HostBackend:
        """The same vector on the host, which does the rest after the code round."""
        place = HostBackend(self._coder, self._on_host(), self._context)
        place.prepare(self._norms, self._peaks)
        place.codes[...] = self.codes
        return place
