# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Two-shot quantized all-reduce over the process group, a peer of the benchmarks.

Each worker quantizes its vector in groups and sends every other worker one share (all-to-all). The worker adds the
contributions to its share, quantizes the mean again, and sends it to all others (all-gather). torchft's quantized
all-reduce and ZeRO++'s gradients work like this. There is no error feedback, as in both of them.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch
import torch.distributed as dist

from lanesum.errors import ConfigurationError

#: Values that share a scale; the two shots send its float32 with each group.
GROUP = 512
_SCALE_BYTES = 4


class TwoShot:
    """State of a hook that averages the buckets in a thread, in their order, while backward computes the next ones.

    ``bits``: 8 or 4 for each value.
    """

    def __init__(self, bits: int) -> None:
        if bits not in (4, 8):
            raise ConfigurationError(f"A two-shot all-reduce has 4 or 8 bits for each value, not {bits}.")
        self.bits = bits
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="two-shot")

    @classmethod
    def named(cls, name: str) -> TwoShot:
        """Return the method that the benchmarks call ``name``: ``two-shot-4`` or ``two-shot-8``."""
        return cls(int(name.rpartition("-")[2]))

    def average(self, vector: torch.Tensor) -> torch.Tensor:
        """Return the mean of the workers' flat float32 vectors; all workers get the same bits."""
        workers = dist.get_world_size()
        sent = self.shares(vector, workers)
        received = torch.empty_like(sent)
        dist.all_to_all_single(received, sent)
        own = self.reduced(received)
        gathered = own.new_empty(workers, own.shape[1])
        dist.all_gather(list(gathered.unsqueeze(1).unbind()), own)
        return self.dequantize(gathered).flatten()[: vector.numel()]

    def bytes_each_way(self, values: int, workers: int) -> int:
        """Return the bytes that a worker sends, and receives: its own share stays with it in both shots."""
        groups = _groups_of_share(values, workers)
        return 2 * (workers - 1) * groups * (GROUP * self.bits // 8 + _SCALE_BYTES)

    def shares(self, vector: torch.Tensor, workers: int) -> torch.Tensor:
        """Return a row for each worker: its share of ``vector``, quantized."""
        share = _groups_of_share(vector.numel(), workers) * GROUP
        padded = torch.nn.functional.pad(vector, (0, workers * share - vector.numel()))
        return self.quantize(padded.view(workers, share))

    def reduced(self, received: torch.Tensor) -> torch.Tensor:
        """Return the mean of one share, quantized again, from the row of each worker."""
        return self.quantize(self.dequantize(received).sum(dim=0, keepdim=True) / len(received))

    def quantize(self, rows: torch.Tensor) -> torch.Tensor:
        """Return codes and scales of each row as bytes; rows are whole groups."""
        groups = rows.view(len(rows), -1, GROUP)
        levels = (1 << (self.bits - 1)) - 1
        scales = groups.abs().amax(dim=2, keepdim=True).div_(levels)
        # A group of zeros has codes of zero.
        codes = (groups / scales.clamp_min(torch.finfo(torch.float32).tiny)).round_().to(torch.int8)
        if self.bits == 4:
            nibbles = (codes & 0xF).view(torch.uint8).flatten(1)
            packed = nibbles[:, ::2] | (nibbles[:, 1::2] << 4)
        else:
            packed = codes.view(torch.uint8).flatten(1)
        return torch.cat((packed, scales.flatten(1).view(torch.uint8)), dim=1)

    def dequantize(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the values of rows of :meth:`quantize`."""
        groups = rows.shape[1] // (GROUP * self.bits // 8 + _SCALE_BYTES)
        packed, scales = rows.tensor_split([rows.shape[1] - groups * _SCALE_BYTES], dim=1)
        if self.bits == 4:
            # Shifts of int8 extend the sign.
            signed = packed.view(torch.int8)
            codes = torch.stack(((signed << 4) >> 4, signed >> 4), dim=2)
        else:
            codes = packed.view(torch.int8)
        factors = scales.contiguous().view(torch.float32)
        values: torch.Tensor = codes.view(len(rows), groups, GROUP).float() * factors[:, :, None]
        return values.flatten(1)

    def submit(self, buffer: torch.Tensor) -> torch.futures.Future[torch.Tensor]:
        """Replace ``buffer`` by the mean; return at once."""
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future()

        def work() -> None:
            try:
                future.set_result(buffer.copy_(self.average(buffer)))
            except Exception as error:
                future.set_exception(error)  # type: ignore[arg-type]  # PyTorch annotates the parameter as a result

        self._executor.submit(work)
        return future


def _groups_of_share(values: int, workers: int) -> int:
    return -(-values // (workers * GROUP))
