# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Time of ``thc`` per coordinate, beside the same algorithm in PyTorch operations.

Both encode one vector and decode one sum of four workers, on one thread of the processor or on a GPU; turns alternate.
On a GPU the time is wall-clock time, with the copies of words to and from the host. The codec is driven as a session
drives it: all norms, then the words of all segments, then the values of all segments. The PyTorch version uses vector
operations: the rotation of a block of 4,096 as two products with Hadamard matrices of 64, dithers from PyTorch's
generator, codes packed by shifts. Its random bits differ; its error is the same.

The other part compares all codecs: :mod:`lanesum_lab.bench.comparison`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

from lanesum._internal.native import availability
from lanesum.codecs import THC, Aggregate, CodecContext
from lanesum.codecs.base import Codec, Round, RoundGroup, Vector
from lanesum.codecs.kernels import dispatch
from lanesum.codecs.kernels.packing import lane_contribution
from lanesum.errors import ConfigurationError
from lanesum_lab.baselines.thc_paper import PaperTHC
from lanesum_lab.bench import comparison, pictures, registry
from lanesum_lab.bench.devices import Device, device
from lanesum_lab.bench.figures import machine, spread, text
from lanesum_lab.torch_threads import one_thread

COLUMNS = ("codec", "by", "norm", "encode", "decode", "together, ns per value", "times as fast as PyTorch")
WORKERS = 4
PEER = "PyTorch"
PARTS = ("speed", "comparison")
_BLOCK, _FACTOR = 4096, 64


@dataclass(frozen=True, slots=True)
class CodecSettings:
    """Settings of the benchmark.

    Attributes:
        compared: length of the random vectors for the comparison of all codecs.
        recorded: also compare with gradients recorded from training.
    """

    values: int = registry.option(1 << 22, "Length of the vector, a multiple of 4096.", low=4096)
    repeats: int = registry.repeats(7)
    levels: tuple[str, ...] = registry.option((), "Vector instructions, separated by commas; default: the widest.")
    compared: int = 1 << 18
    recorded: bool = True
    parts: tuple[str, ...] = registry.option(
        PARTS, "speed (of THC) or comparison (of all codecs); by default both.", flag="--part"
    )
    devices: tuple[str, ...] = registry.option(("cpu",), "Devices (cpu, cuda), separated by commas.", flag="--device")
    codecs: tuple[str, ...] = registry.option(
        (), "Rows of the comparison, separated by semicolons; by default all.", separator=";"
    )

    def __post_init__(self) -> None:
        if self.values % _BLOCK:
            raise ConfigurationError(
                f"--values {self.values} is not a multiple of {_BLOCK}.", "PyTorch's version takes whole blocks."
            )
        labels = (*comparison.ALL_CODECS, *comparison.PEERS)
        unknown = set(self.codecs) - set(labels)
        if unknown:
            known = "; ".join(labels)
            raise ConfigurationError(
                f"No codec is compared as {', '.join(map(repr, sorted(unknown)))}.", f"Use {known}."
            )
        if not self.parts or set(self.parts) - set(PARTS):
            raise ConfigurationError(f"Unknown parts={self.parts!r}: expected some of {', '.join(PARTS)}.")


QUICK = CodecSettings(values=1 << 16, repeats=2, compared=1 << 12, recorded=False)
Times = dict[str, float]


def run(settings: CodecSettings) -> dict[str, Any]:
    """Measure; return a JSON-ready object with ``figures`` and, under ``left_out``, cases not measured and the reasons.

    Raises the exceptions of :func:`lanesum_lab.bench.devices.device` before measuring anything.
    """
    left_out: dict[str, str] = {}
    devices = [device(name) for name in settings.devices]
    figures = []
    if "speed" in settings.parts:
        for one in devices:
            figures += _speed(settings, one, left_out)
    compared = []
    if "comparison" in settings.parts:
        compared = comparison.run(
            settings.compared, settings.repeats, settings.recorded, left_out, devices, settings.codecs
        )
    return {
        "machine": machine(),
        "devices": [one.described for one in devices],
        "values": settings.values,
        "repeats": settings.repeats,
        "workers": WORKERS,
        "figures": figures,
        "comparison": compared,
        "left_out": left_out,
    }


def _speed(settings: CodecSettings, device: Device, left_out: dict[str, str]) -> list[dict[str, Any]]:
    """Measure ``thc``, on the processor with each level of instructions, beside PyTorch; all take turns."""
    vector: Vector = np.random.default_rng(1).normal(size=settings.values).astype(np.float32)
    is_processor = device.of is None
    cases: dict[tuple[str, str], Callable[[], Times]] = {}
    for level in _levels(settings, left_out) if is_processor else (device.name,):
        for bits in (4, 3, 5, 8):
            codec = THC(workers=WORKERS, bits=bits)
            cases[f"thc, {bits} bits", level] = partial(_timed, codec, vector, level if is_processor else None, device)
    if is_processor:
        cases["thc-paper", level] = partial(_timed, PaperTHC(workers=WORKERS), vector, None, device)
    peer = ("thc, 4 bits", PEER if is_processor else f"{PEER}, {device.name}")
    if importlib.util.find_spec("torch") is None:
        left_out[PEER] = "it is not installed"
    else:
        cases[peer] = _peer(vector, device)
    runs: dict[tuple[str, str], list[Times]] = {case: [] for case in cases}
    for turn in range(settings.repeats + 1):
        for case, once in cases.items():
            times = once()
            if turn:
                runs[case].append({step: seconds / settings.values * 1e9 for step, seconds in times.items()})
    return [_figure(case, some, runs.get(peer)) for case, some in runs.items()]


def _levels(settings: CodecSettings, left_out: dict[str, str]) -> tuple[str, ...]:
    core = availability().core
    if core is None:
        left_out["compiled loops"] = availability().reason
        return ("NumPy",)
    there = tuple(core.CodecKernels.levels())
    for level in settings.levels:
        if level not in there:
            left_out[level] = "this processor does not have it"
    return tuple(level for level in settings.levels if level in there) or there[-1:]


@contextlib.contextmanager
def _using(level: str | None) -> Iterator[None]:
    """Make codecs use the kernels of a level meanwhile; None and ``NumPy`` change nothing."""
    core = availability().core
    if core is None or level is None:
        yield
        return
    loops, native = core.BlockKernels(level), dispatch.native

    def of_level(kind: type, **options: int) -> Any:
        return loops if kind is type(loops) else native(kind, **options)

    with mock.patch.object(dispatch, "native", of_level):
        yield


def _timed(codec: Codec, vector: Vector, level: str | None, device: Device) -> Times:
    """Return the seconds of one worker's steps."""
    with _using(level):
        there, context = device.vector(vector), CodecContext(workers=WORKERS, worker=1, seed=1)
        marks = [device.clock()]
        steps = device.steps(codec, there, context)
        norms = _one(next(steps))
        marks.append(device.clock())
        codes = _one(steps.send(Aggregate(norms.words, WORKERS)))
        marks.append(device.clock())
        sums = lane_contribution(codes.op, codes.words, codec.code_table) * np.uint32(WORKERS)
        marks.append(device.clock())
        try:
            steps.send(Aggregate(sums, WORKERS))
        except StopIteration as stop:
            marks.append(device.clock())
            # Sums of four equal workers: a wrong or empty result would show.
            error = np.sum((device.values(stop.value.values) - vector) ** 2) / np.sum(vector**2)
            assert error < 0.1, f"{codec.name}: error {error}"
    return {"norm": marks[1] - marks[0], "encode": marks[2] - marks[1], "decode": marks[4] - marks[3]}


def _one(yielded: Round | RoundGroup) -> Round:
    assert isinstance(yielded, Round)
    return yielded


def _peer(vector: Vector, device: Device) -> Callable[[], Times]:
    """Measure the PyTorch version on one thread or on a GPU."""
    import torch

    grid = THC(workers=WORKERS, bits=4).grid
    of = device.of or torch.device("cpu")
    blocks = torch.from_numpy(vector).to(of).reshape(-1, _FACTOR, _FACTOR)
    hadamard = torch.ones(1, 1, device=of)
    while len(hadamard) < _FACTOR:
        hadamard = torch.cat((torch.cat((hadamard, hadamard), 1), torch.cat((hadamard, -hadamard), 1)))
    levels = torch.tensor(grid.levels, device=of)
    integers = torch.arange(grid.granularity + 1, device=of)
    below = torch.searchsorted(levels, integers, right=True) - 1
    left_out = ~torch.isin(integers, levels)

    def rotate(rows: torch.Tensor) -> torch.Tensor:
        return hadamard @ rows @ hadamard

    def dithers() -> torch.Tensor:
        generator = torch.Generator(of).manual_seed(5)
        return torch.randint(0, 1 << 16, blocks.shape, generator=generator, dtype=torch.int32, device=of)

    def once() -> Times:
        with one_thread():
            return _once()

    def _once() -> Times:
        marks = [device.clock()]
        norms = torch.linalg.vector_norm(blocks, dim=(1, 2), keepdim=True)
        marks.append(device.clock())
        generator = torch.Generator(of).manual_seed(3)
        signs = torch.randint(0, 2, (_FACTOR, _FACTOR), generator=generator, device=of) * 2.0 - 1
        factors = grid.granularity / (2 * grid.limit) / norms
        position = (rotate(blocks * (signs * factors)) + grid.granularity / 2).clamp(0, grid.granularity)
        shared = dithers()
        dither = (shared + (1 << 14)) & 0xFFFF
        level = ((position * 65536).to(torch.int32) + dither) >> 16
        codes = below[level] + (left_out[level] & ((shared & 1) == 0))
        eights = codes.reshape(-1, 2, 4).to(torch.int32)
        octets = eights[:, 0] | eights[:, 1] << 4
        words = octets[:, 0] << 24 | octets[:, 1] << 16 | octets[:, 2] << 8 | octets[:, 3]
        marks.append(device.clock())
        assert words.numel() * 8 == vector.size
        lanes = (levels[codes] * WORKERS).to(torch.uint8).reshape(-1, 4)
        marks.append(device.clock())
        sums = lanes.reshape(blocks.shape).to(torch.int32) << 16
        # Four equal workers share one dither here; the work is that of four different ones.
        taken = dither * WORKERS
        estimate = (sums - taken + WORKERS * (1 - grid.granularity) * 32768).to(torch.float32)
        back = 2 * grid.limit / grid.granularity / 65536 / _BLOCK / WORKERS * norms
        values = rotate(estimate) * (signs * back)
        marks.append(device.clock())
        error = float(((values - blocks) ** 2).sum() / (blocks**2).sum())
        assert error < 0.1 and math.isfinite(error), f"{PEER}: error {error}"
        return {"norm": marks[1] - marks[0], "encode": marks[2] - marks[1], "decode": marks[4] - marks[3]}

    return once


def _figure(case: tuple[str, str], runs: list[Times], peer: list[Times] | None) -> dict[str, Any]:
    codec, by = case
    together = [sum(times.values()) for times in runs]
    ratios = None if peer is None else spread([sum(p.values()) / own for p, own in zip(peer, together, strict=True)])
    return {
        "codec": codec,
        "by": by,
        "ns_per_value": {step: spread([times[step] for times in runs]) for step in runs[0]},
        "together": spread(together),
        "times_peer": ratios,
    }


def rows(result: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    """Return one row per codec and implementation."""
    for figure in result["figures"]:
        steps = [f"{figure['ns_per_value'][step]['median']:.2f}" for step in ("norm", "encode", "decode")]
        ratio = "-" if figure["times_peer"] is None else f"{figure['times_peer']['median']:.1f}"
        yield figure["codec"], figure["by"], *steps, text(figure["together"]), ratio


registry.Benchmark(
    name="codec",
    summary="Time of THC beside PyTorch's operations; error, bits and time of all codecs beside each other.",
    quick=QUICK,
    run=run,
    tables=(
        (COLUMNS, rows),
        (comparison.COLUMNS, comparison.rows),
    ),
    picture=pictures.codec,
).register()
