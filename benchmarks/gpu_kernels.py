# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of ``thc`` on a GPU, beside memory copies: functions of ``benchmarks/gpu.py``."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from lanesum.codecs.base import CodecContext
from lanesum.codecs.kernels.reference import SUM_BLOCK
from lanesum.codecs.thc.codec import THC
from lanesum.codecs.thc.device import DeviceBackend
from lanesum.gpu.staging import staging_for
from lanesum_lab.bench.devices import Device

_WORKERS = 4
_FLOAT, _DOUBLE = 4, 8
# About 20 milliseconds, in which hundreds of kernels are launched.
_BUSY_CYCLES = 40_000_000


def traffic(codec: THC, *, error_feedback: bool) -> dict[str, float]:
    """Return the bytes per coordinate that each kernel reads and writes, by name: arithmetic for whole blocks.

    These are the requested bytes. ``encode`` may find data of ``square_sums`` in the GPU's cache, for vectors that fit
    it. ``error_feedback``: with error feedback inside the kernels.
    """
    shape, block = codec.op.shape, codec.block
    inputs = _FLOAT * (2 if error_feedback else 1)
    # Two powers and one factor for positions, two scales for the residual, two for values.
    for_encoding = _FLOAT * (5 if error_feedback else 3) / block
    return {
        "square_sums": inputs + _DOUBLE / min(block, SUM_BLOCK),
        "encode": inputs + for_encoding + shape.code_bits / 8 + (_FLOAT if error_feedback else 0),
        "decode": shape.lane_bits / 8 + 2 * _FLOAT / block + _FLOAT,
    }


def timing(case: KernelCase, count: int, seconds: list[float], copied: float) -> dict[str, Any]:
    """Return the JSON-ready figure of repetitions of ``seconds`` on ``count`` coordinates.

    ``copied``: bandwidth of copying in bytes per second; 0 for copying itself, whose ``share`` is 1. Bytes and
    nanoseconds are per coordinate; ``ns`` is the median.
    """
    median = statistics.median(seconds)
    bandwidth = case.bytes * count / median
    ns, min_ns, max_ns = (1e9 * one / count for one in (median, min(seconds), max(seconds)))
    return {
        "what": case.what,
        "by": case.by,
        "bytes": case.bytes,
        "ns": ns,
        "min_ns": min_ns,
        "max_ns": max_ns,
        "bandwidth": bandwidth,
        "share": bandwidth / (copied or bandwidth),
    }


class Vectors:
    """Inputs of all kernels: ``count`` normal values on a device, a residual, and a codec's state between rounds."""

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
        # The measured kernels run in the caller's stream.
        own.hand_over()
        uplink, downlink = (shape.words for shape in self.codec.shapes(count)[1:]), self.codec.shapes(count)[1]
        self.words = torch.empty(next(uplink), dtype=torch.int32, device=of)
        # Arbitrary lanes are valid sums.
        self.lanes = torch.randint(-(2**31), 2**31, (downlink.result_words,), device=of, generator=generator).int()
        self.sums = torch.empty(-(-count // SUM_BLOCK), dtype=torch.float64, device=of)


@dataclass(frozen=True)
class KernelCase:
    """A kernel to measure. ``bytes``: its memory traffic per coordinate, by arithmetic."""

    what: str
    by: str
    bytes: float
    launch: Callable[[], object]


def kernel_cases(count: int, of: torch.device) -> list[KernelCase]:
    """Return the kernels on ``count`` coordinates; copying is the first."""
    one = Vectors(count, of)
    place, runs, moved = one.place, one.place.runs, traffic(one.codec, error_feedback=True)
    target = torch.empty_like(one.values)

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

    norms, encoded, decoded = (moved[name] for name in ("square_sums", "encode", "decode"))
    return [
        KernelCase("copy", "PyTorch", 8.0, lambda: target.copy_(one.values)),
        KernelCase("norms", "lanesum", norms, lambda: place.launch_square_sums(one.sums)),
        KernelCase("encode", "lanesum", encoded, encode),
        KernelCase("norms and encode", "lanesum", norms + encoded, norm_and_encode),
        KernelCase("decode", "lanesum", decoded, decode),
    ]


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


def measure(device: Device, count: int, repeats: int) -> dict[str, Any]:
    """Measure all kernels on ``count`` coordinates (whole blocks); return JSON-ready figures."""
    timings: list[dict[str, Any]] = []
    for case in kernel_cases(count, device.of):
        copied = timings[0]["bandwidth"] if timings else 0.0
        timings.append(timing(case, count, seconds_of(case.launch, repeats), copied))
    return {"device": device.described, "coordinates": count, "repeats": repeats, "timings": timings}
