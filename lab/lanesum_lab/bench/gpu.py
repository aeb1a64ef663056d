# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of ``thc`` on a GPU, beside memory copies and other implementations: ``benchmarks/gpu.py``."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from lanesum.codecs.base import CodecContext
from lanesum.codecs.kernels.reference import SUM_BLOCK
from lanesum.codecs.thc.codec import THC
from lanesum.codecs.thc.device import DeviceBackend
from lanesum.gpu.staging import staging_for
from lanesum_lab.bench import gpu_peers
from lanesum_lab.bench.devices import Device
from lanesum_lab.bench.gpu_traffic import traffic

_WORKERS = 4
_RANK = 4
# About 20 milliseconds, in which hundreds of kernels are launched.
_BUSY_CYCLES = 40_000_000


@dataclass(frozen=True)
class Timing:
    """Time of one operation on a vector.

    Attributes:
        what, by: the operation, and its implementation.
        bytes: memory traffic per coordinate, by arithmetic; None where it is not known.
        ns: time per coordinate, median of the repetitions.
        min_ns, max_ns: extremes.
        bandwidth: bytes per second, where ``bytes`` is known.
        share: fraction of the bandwidth of copying.
    """

    what: str
    by: str
    bytes: float | None
    ns: float
    min_ns: float
    max_ns: float
    bandwidth: float | None
    share: float | None


def timing(what: str, by: str, count: int, bytes_each: float | None, seconds: list[float], copied: float) -> Timing:
    """Return the timing of repetitions of ``seconds`` on ``count`` coordinates.

    ``copied``: bandwidth of copying in bytes per second; 0 for copying itself, whose ``share`` is 1.
    """
    median = statistics.median(seconds)
    bandwidth = None if bytes_each is None else bytes_each * count / median
    share = None if bandwidth is None else bandwidth / (copied or bandwidth)
    ns, min_ns, max_ns = (1e9 * one / count for one in (median, min(seconds), max(seconds)))
    return Timing(what, by, bytes_each, ns, min_ns, max_ns, bandwidth, share)


class Vectors:
    """Inputs of all operations: ``count`` normal values on a device, a residual, and a codec's state between rounds."""

    def __init__(self, count: int, of: torch.device) -> None:
        generator = torch.Generator(of).manual_seed(1)
        self.values = torch.randn(count, device=of, generator=generator)
        self.feedback = torch.randn(count, device=of, generator=generator) / 8
        self.codec = THC(workers=_WORKERS)
        self.context = CodecContext(
            workers=_WORKERS, worker=1, seed=7, keep_residual=True, error_feedback=self.feedback
        )
        own = staging_for(of)
        own.wait_event(own.record_event(), self.values, self.feedback)
        self.place = DeviceBackend(self.codec.coder, self.values, self.context)
        self.norms = self.place.norms()
        self.peaks = self.norms * np.float32(1.1)
        self.place.prepare(self.norms, self.peaks)
        # The measured operations run in the caller's stream.
        own.hand_over()
        uplink, downlink = (shape.words for shape in self.codec.shapes(count)[1:]), self.codec.shapes(count)[1]
        self.words = torch.empty(next(uplink), dtype=torch.int32, device=of)
        # Arbitrary lanes are valid sums.
        self.lanes = torch.randint(-(2**31), 2**31, (downlink.result_words,), device=of, generator=generator).int()
        self.sums = torch.empty(-(-count // SUM_BLOCK), dtype=torch.float64, device=of)


def works(count: int, of: torch.device, compiled: bool) -> list[tuple[str, str, float | None, Callable[[], object]]]:
    """Return operation, implementation, bytes per coordinate, and a function that launches it."""
    one = Vectors(count, of)
    place, runs, moved = one.place, one.place.runs, traffic(one.codec, error_feedback=True)
    plain = gpu_peers.PlainThc(one.codec, one.context, one.norms, one.peaks, of)
    target, half = torch.empty_like(one.values), one.values.half()
    side = int(count**0.5)
    right = torch.randn(side, _RANK, device=of)
    square, rest = one.values[: side * side], one.feedback[: side * side]
    both = moved["square_sums"].total + moved["encode"].total

    def encode() -> None:
        for run in runs:
            place.launch_encode(run, one.words)

    def decode() -> None:
        for run in runs:
            lanes = run.words(one.codec.lanes)
            place.launch_decode(run, one.lanes[lanes])

    def norm_and_encode() -> None:
        place.launch_square_sums(one.sums)
        encode()

    found: list[tuple[str, str, float | None, Callable[[], object]]] = [
        ("copy", "PyTorch", 8.0, lambda: target.copy_(one.values)),
        ("norms", "lanesum", moved["square_sums"].total, lambda: place.launch_square_sums(one.sums)),
        ("encode", "lanesum", moved["encode"].total, encode),
        ("norms and encode", "lanesum", both, norm_and_encode),
        ("decode", "lanesum", moved["decode"].total, decode),
        ("encode", "plain PyTorch", None, lambda: plain.encode(one.values, one.feedback)),
        ("decode", "plain PyTorch", None, lambda: plain.decode(one.lanes)),
        ("encode", "fp16 hook", None, lambda: gpu_peers.half_encode(one.values, _WORKERS)),
        ("decode", "fp16 hook", None, lambda: gpu_peers.half_decode(half, target)),
        (f"both, rank {_RANK}", "PowerSGD", None, lambda: gpu_peers.power_sgd(square, rest, right)),
    ]
    if compiled:
        encode_, decode_ = torch.compile(plain.encode), torch.compile(plain.decode)
        found += [
            ("encode", "torch.compile", None, lambda: encode_(one.values, one.feedback)),
            ("decode", "torch.compile", None, lambda: decode_(one.lanes)),
        ]
    return found


def seconds_of(work: Callable[[], object], repeats: int) -> list[float]:
    """Return the seconds of each repetition by GPU events, after uncounted warm-up repetitions."""
    for _ in range(3):
        work()
    times = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        # All launches happen while the GPU is busy: otherwise small kernels would measure the launch.
        torch.cuda._sleep(_BUSY_CYCLES)  # type: ignore[no-untyped-call]
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return times


def measure(device: Device, count: int, repeats: int, compiled: bool) -> dict[str, Any]:
    """Measure all operations on ``count`` coordinates (whole blocks); return JSON-ready figures.

    A peer that fails, or does not fit the GPU's memory, is listed with its error.
    """
    timings, failed, copied = [], {}, 0.0
    for what, by, bytes_each, work in works(count, device.of, compiled):
        try:
            seconds = seconds_of(work, repeats)
        except Exception as error:
            if by in ("lanesum", "PyTorch"):
                raise
            failed[f"{what}, {by}"] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            continue
        made = timing(what, by, count, bytes_each, seconds, copied)
        copied = copied or made.bandwidth or 0.0
        timings.append(asdict(made))
    return {"device": device.described, "coordinates": count, "repeats": repeats, "timings": timings, "failed": failed}
