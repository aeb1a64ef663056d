# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Error, bits and processor time of every codec on the same vectors, beside PyTorch's PowerSGD hook and two-shot sums.

The error is the NMSE of the mean of four workers after one all-reduce without error feedback. Codecs with state run
some all-reduces before. Time is that of one worker, encoding and decoding on one thread, with recorded sums as the
network's answers. On a GPU it is wall-clock time from device vectors to device values, with all copies to and from the
host. Bits are uplink and downlink payload per value and worker, with scales; gathered messages grow with the number of
workers. A switch adds the words of a codec only if all workers share scales, levels and positions.
"""

from __future__ import annotations

import atexit
import copy
import importlib.util
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from lanesum import codecs
from lanesum.codecs import Aggregate, Codec, CodecContext, RoundGroup
from lanesum.codecs.base import Vector, Words
from lanesum.protocol.lanes import WORD_BITS
from lanesum_lab.baselines import DGC
from lanesum_lab.bench.devices import Device
from lanesum_lab.bench.figures import spread
from lanesum_lab.bench.reducer import TWO_SHOTS
from lanesum_lab.codec_simulation import simulate
from lanesum_lab.torch_threads import one_thread

COLUMNS = ("vectors", "codec", "switch adds", "bits up", "bits down", "round trips", "NMSE", "ns per value")
WORKERS = 4
HOOK = "powersgd, PyTorch's hook"
_DENSITY = 0.01
_RECORDS = 3
# All-reduces before the measurement, for codecs that adapt to sums. The first one of a policy is dense, and leaves a
# dense residual.
_SETTLING = 9
_SEED = 7
_LEARNED: dict[str, Any] = {"density": _DENSITY, "warm_up": 1, "training": 20}

#: Kinds of vectors.
GAUSSIAN, SPARSE, RECORDED = "Gaussian", f"sparse, {100 * _DENSITY:g} %", "transformer"
#: Label -> codec and its parameters.
CODECS: dict[str, tuple[str, dict[str, Any]]] = {
    "none": ("none", {}),
    "bf16": ("bf16", {}),
    "fp16": ("fp16", {}),
    "fixed": ("fixed", {}),
    "thc 3": ("thc", {"bits": 3}),
    "thc 4": ("thc", {}),
    "thc 5": ("thc", {"bits": 5}),
    "thc 8": ("thc", {"bits": 8}),
    "thc-paper": ("thc-paper", {}),
    "thc-uniform": ("thc-uniform", {}),
    "eden 4": ("eden", {}),
    "eden 5": ("eden", {"bits": 5}),
    "powersgd": ("powersgd", {}),
    "powersgd, rank 4": ("powersgd", {"rank": 4}),
    "topk": ("topk", {"density": _DENSITY}),
    "dgc": ("dgc", {"density": _DENSITY, "momentum": 0.0}),
    "lgc": ("lgc", _LEARNED),
    "lgc-server": ("lgc-server", _LEARNED),
}
#: Codecs that are compared with sparse vectors only. On other vectors they sum as ``fixed`` or ``thc``.
SPARSE_CODECS: dict[str, tuple[str, dict[str, Any]]] = {
    name: (name, {}) for name in ("sketch", "union", "auto", "policy")
}
# All other registered codecs, with their defaults.
CODECS |= {name: (name, {}) for name in set(codecs.names()) - {one for one, _ in (CODECS | SPARSE_CODECS).values()}}
ALL_CODECS = {**CODECS, **SPARSE_CODECS}
#: Labels of measurements without a codec of lanesum, which need PyTorch.
PEERS = (*TWO_SHOTS, HOOK)
#: Labels of messages that a switch cannot add, because each worker has a scale, levels or a format of its own. Codecs
#: gather them.
NOT_SUMMED = frozenset({"none", "bf16", "fp16", "eden 4", "eden 5", "lgc-server", *PEERS})


def run(
    values: int,
    repeats: int,
    recorded: bool,
    left_out: dict[str, str],
    devices: Sequence[Device],
    names: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Measure with ``values`` random values, dense and sparse, and ``recorded`` gradients of the transformer.

    ``names``: labels in ``ALL_CODECS`` and ``PEERS``; empty for all. Returns JSON-ready figures, one per device.
    """
    torch_there = importlib.util.find_spec("torch") is not None
    inputs = {GAUSSIAN: _drawn(values), SPARSE: _sparse(values)}
    if torch_there and recorded:
        from lanesum_lab.bench import gradients

        inputs[RECORDED] = gradients.recorded("transformer", WORKERS, _RECORDS)
    if not torch_there:
        left_out["learned compression, gradients of the transformer and peers by PyTorch"] = "PyTorch is missing"
    figures = []
    for name, records in inputs.items():
        there = ALL_CODECS if name == SPARSE else CODECS
        for label, (codec, parameters) in there.items():
            if (torch_there or not codec.startswith("lgc")) and label in (names or there):
                figures += _figures(name, label, records, repeats, codec, parameters, devices)
        for label in PEERS if torch_there else ():
            if label in (names or PEERS):
                measured = _hook if label == HOOK else partial(_two_shot, label)
                figures += [measured(name, records, repeats, device) for device in devices]
    return figures


def _drawn(values: int) -> list[list[Vector]]:
    return [
        [np.random.default_rng([3, number, worker]).standard_normal(values, np.float32) for worker in range(WORKERS)]
        for number in range(_RECORDS)
    ]


def _sparse(values: int) -> list[list[Vector]]:
    """Return vectors with nonzero values at different positions for every worker."""
    records = _drawn(values)
    for number, vectors in enumerate(records):
        for worker, vector in enumerate(vectors):
            vector[np.random.default_rng([4, number, worker]).random(values) >= _DENSITY] = 0
    return records


def _figures(
    name: str,
    label: str,
    records: list[list[Vector]],
    repeats: int,
    codec: str,
    parameters: dict[str, Any],
    devices: Sequence[Device],
) -> list[dict[str, Any]]:
    job = [codecs.get(codec, workers=WORKERS, **parameters) for _ in range(WORKERS)]
    before = 1 + sum(parameters.get(key, 0) for key in ("warm_up", "training"))
    if job[0].traits.depends_on_past_sums:
        before += _SETTLING
    for number in range(before):
        vectors = records[number % _RECORDS]
        _forget_unsent(job)
        simulate(job, vectors, seed=_SEED, round=number, tensor="gradient", complete=True)
    _forget_unsent(job)
    vectors = records[before % _RECORDS]
    first = copy.deepcopy(job[0])
    went = simulate(job, vectors, seed=_SEED, round=before, tensor="gradient", complete=True)
    context = CodecContext(workers=WORKERS, worker=0, seed=_SEED, round=before, tensor="gradient", complete=True)
    size = vectors[0].size
    figures = []
    for device in devices:
        seconds = [
            _replayed(copy.deepcopy(first), vectors[0], context, went.aggregates, went.values, device)
            for _ in range(repeats + 1)
        ]
        bits_down = sum(words.size for words in went.aggregates) * WORD_BITS / size
        bits = went.uplink_words * WORD_BITS / size, bits_down
        figures.append(_figure(name, label, device, vectors, went.values, bits, seconds[1:], went.round_trips))
    return figures


def _error(values: Vector, vectors: Sequence[Vector]) -> float:
    truth = np.mean(vectors, axis=0, dtype=np.float64)
    return float(np.sum((values - truth) ** 2) / np.sum(truth**2))


def _forget_unsent(job: Sequence[Codec]) -> None:
    """Drop the values that ``dgc`` would send in later all-reduces, because the error is that of one all-reduce."""
    for one in job:
        if isinstance(one, DGC):
            one.load_state_dict({**one.state_dict(), "unsent": {}, "velocity": {}})


def _replayed(
    codec: Codec, vector: Vector, context: CodecContext, aggregates: Sequence[Words], expected: Vector, device: Device
) -> float:
    """Return the seconds of one worker that gets recorded sums, on the host and with the same bits."""
    left = iter(aggregates)
    there = device.vector(vector)
    start = device.clock()
    steps = device.steps(codec, there, context)
    try:
        made = next(steps)
        while True:
            if isinstance(made, RoundGroup):
                made = steps.send(tuple(Aggregate(next(left).copy(), WORKERS) for _ in made.rounds))
            else:
                made = steps.send(Aggregate(next(left).copy(), WORKERS))
    except StopIteration as stop:
        seconds = device.clock() - start
        assert device.values(stop.value.values).tobytes() == expected.tobytes(), f"{codec.name} decodes other bits"
    return seconds


def _two_shot(label: str, name: str, records: list[list[Vector]], repeats: int, device: Device) -> dict[str, Any]:
    """Measure a two-shot all-reduce; the rows of all workers change places in memory."""
    import torch

    from lanesum_lab.train.two_shot import TwoShot

    method, vectors = TwoShot.named(label), records[0]
    size, seconds = vectors[0].size, []
    tensors = [torch.from_numpy(vector).to(device.of or "cpu") for vector in vectors]
    with one_thread():
        for _ in range(repeats + 1):
            sent = [method.shares(tensor, WORKERS) for tensor in tensors[1:]]
            start = device.clock()
            own = method.shares(tensors[0], WORKERS)
            seconds.append(device.clock() - start)
            received = torch.stack((own, *sent), dim=1)
            others = [method.reduced(rows) for rows in received[1:]]
            start = device.clock()
            own = method.reduced(received[0])
            seconds[-1] += device.clock() - start
            gathered = torch.cat((own, *others))
            start = device.clock()
            mean = method.dequantize(gathered).flatten()[:size]
            seconds[-1] += device.clock() - start
    bits = 8 * method.bytes_each_way(size, WORKERS) / size
    return _figure(name, label, device, vectors, mean.cpu().numpy(), (bits, bits), seconds[1:])


def _figure(
    name: str,
    label: str,
    device: Device,
    vectors: Sequence[Vector],
    values: Vector,
    bits: tuple[float, float],
    seconds: Sequence[float],
    round_trips: int = 2,
) -> dict[str, Any]:
    """Return the JSON-ready figure of a codec or peer. ``bits``: uplink and downlink bits of a value."""
    size = vectors[0].size
    return {
        "vectors": name,
        "codec": label,
        "device": device.name,
        "coordinates": size,
        "bits_up": bits[0],
        "bits_down": bits[1],
        "round_trips": round_trips,
        "nmse": _error(values, vectors),
        "ns_per_value": spread([one / size * 1e9 for one in seconds]),
    }


def _hook(name: str, records: list[list[Vector]], repeats: int, device: Device) -> dict[str, Any]:
    """Measure PyTorch's hook at rank 1 in a group of one process with the workers' mean: both are linear."""
    import torch
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as hooks
    from torch.nn.parallel import DistributedDataParallel

    size = records[0][0].size
    side = int(np.ceil(np.sqrt(size)))
    seconds: list[float] = []

    class Square(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(side, side))

        def forward(self, gradient: torch.Tensor) -> torch.Tensor:
            return (self.weight * gradient).sum()

    def timed(state, bucket):  # type: ignore[no-untyped-def]  # DDP compares annotations, which are strings here
        start = device.clock()
        future = hooks.powerSGD_hook(state, bucket)
        future.wait()
        seconds.append(device.clock() - start)
        return future

    join_alone()
    with one_thread():
        model = DistributedDataParallel(Square().to(device.of or "cpu"))
        state = hooks.PowerSGDState(None, 1, start_powerSGD_iter=2, use_error_feedback=False)
        model.register_comm_hook(state, timed)
        # The first two are summed uncompressed. Warm-up steps and the measured vectors follow.
        for number in range(-2, 1 + _RECORDS + 1):
            vectors = records[max(number, 0) % _RECORDS]
            mean = np.zeros(side * side, np.float32)
            mean[:size] = np.mean(vectors, axis=0, dtype=np.float64)
            model.zero_grad()
            model(torch.from_numpy(mean).reshape(side, side).to(device.of or "cpu")).backward()
        values = model.module.weight.grad.cpu().numpy().reshape(-1)[:size]
    bits = 2 * side * WORD_BITS / size
    return _figure(name, HOOK, device, vectors, values, (bits, bits), seconds[-repeats:])


def join_alone() -> None:
    """Make a group of this process alone the default group, if there is none, until the process ends.

    It is never destroyed: futures of PyTorch's PowerSGD hook hold the group. If a gloo thread drops the last reference
    after ``destroy_process_group``, it joins itself ("Resource deadlock avoided"), which aborts the process. This
    happened once in hundreds of runs.
    """
    import torch.distributed as dist

    if not dist.is_initialized():
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        atexit.register(_leave)


def _leave() -> None:
    import torch.distributed as dist

    if dist.is_initialized():
        dist.destroy_process_group()


def rows(result: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    """Return one row per kind of vectors, codec and device."""
    number: Callable[[float], str] = lambda value: f"{value:.4f}" if value >= 0.001 else f"{value:.1e}"  # noqa: E731
    several = len({one.get("device") for one in result["comparison"]}) > 1
    for one in result["comparison"]:
        yield (
            one["vectors"],
            f"{one['codec']}, {one['device']}" if several else one["codec"],
            "no" if one["codec"] in NOT_SUMMED else "yes",
            f"{one['bits_up']:.2f}",
            f"{one['bits_down']:.2f}",
            str(one["round_trips"]),
            number(one["nmse"]),
            f"{one['ns_per_value']['median']:.1f}",
        )
