# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Train a transformer with several ranks on one GPU, by NCCL and by lanesum: ``python benchmarks/gpu_training.py``.

Each rank claims another host to NCCL, which then uses sockets. Batches come from pinned memory, and forward passes use
autocast. Then each feature of CUDA is trained by NCCL and by ``fixed``, and the losses are compared. Without a GPU it
exits with status 2; ``--device cpu`` trains on the processor, beside gloo.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
_PACKAGES = [str(folder.parent) for folder in _ROOT.glob("*/lanesum*/")]
sys.path.extend(_PACKAGES)

CONTEXT = 128
#: Ways to average gradients: codec of lanesum; None for the process group.
WAYS = {"process group": None, "fp16 hook": None, "fixed": "fixed", "thc": "thc", "thc error=0.01": "thc error=0.01"}
FEATURES = {"cuda": ("side stream", "graphed layer", "torch.compile", "GradScaler"), "cpu": ("GradScaler",)}
#: Relative difference of the losses of a feature, by NCCL and by ``fixed``. Kernels may add in another order each time.
TOLERANCE = 0.01


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--device", choices=FEATURES, default="cuda")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=40, help="of each training")
    parser.add_argument("--width", type=int, default=768, help="of the transformer, a multiple of 64")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--batch", type=int, default=8, help="sequences of each rank in a step")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--as-rank", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if min(given.ranks, given.layers, given.batch) < 1 or given.steps < 4 or given.width < 64 or given.width % 64:
        parser.error("--width is a multiple of 64, --steps at least 4, and the other numbers at least 1")
    from lanesum.errors import LanesumError
    from lanesum_lab.bench.devices import device

    try:
        described = device(given.device).described
        if given.as_rank:
            return train_all(given, described)
    except LanesumError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    path = os.pathsep.join([*_PACKAGES, os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "lanesum.cli", "launch", f"--nproc={given.ranks}", __file__, "--as-rank"]
    own = sys.argv[1:] if arguments is None else arguments
    return subprocess.run([*command, *own], env={**os.environ, "PYTHONPATH": path}, check=False).returncode


def train_all(given: argparse.Namespace, described: dict[str, Any]) -> int:
    """Carry out all trainings on this rank; rank 0 prints the figures."""
    rank = os.environ["RANK"]
    if given.device == "cuda":  # NCCL refuses two ranks of one host that share a GPU
        switches = dict.fromkeys(("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"), "1")
        os.environ.update(switches, NCCL_HOSTID=rank, NCCL_CUMEM_HOST_ENABLE="0", NCCL_SOCKET_IFNAME="lo")
    import torch
    import torch.distributed as dist

    if given.device == "cuda":
        torch.cuda.set_device(0)
    else:
        torch.set_num_threads(1)
    dist.init_process_group("nccl" if given.device == "cuda" else "gloo")
    text = read_text()
    trainings = {way: train(given, text, way) for way in WAYS if way != "fp16 hook" or given.device == "cuda"}
    features = {
        feature: [train(given, text, way, feature)["loss"] for way in ("process group", "fixed")]
        for feature in FEATURES[given.device]
    }
    peer = dist.get_backend()
    figures = {"device": described, "peer": peer, "ranks": given.ranks, "trainings": trainings, "features": features}
    if rank == "0":
        print(json.dumps(figures, indent=1) if given.json else table(figures), flush=True)
    # A rank that ends earlier would break NCCL's connections to the others.
    dist.barrier()
    dist.destroy_process_group()
    wrong = [f"replicas of {way} differ" for way, one in trainings.items() if not one["replicas_agree"]]
    wrong += [f"losses with {name} differ" for name, (one, two) in features.items() if abs(one - two) > TOLERANCE * one]
    for what in wrong if rank == "0" else ():
        print(what, file=sys.stderr)
    sys.stdout.flush()
    os._exit(1 if wrong else 0)  # threads of gloo can abort a process whose interpreter ends


def read_text() -> Any:
    """Return bytes of Python's standard library, in pinned memory if there is a GPU."""
    import torch

    from lanesum_lab.train.source_text import library_files

    data = bytearray("".join(library_files(2_000_000)[0]).encode())
    text = torch.frombuffer(data, dtype=torch.uint8).clone()
    return text.pin_memory() if torch.cuda.is_available() else text


def make_model(given: argparse.Namespace) -> Any:
    """Return a transformer of bytes, with the same weights on all ranks."""
    import torch
    from torch import nn

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(256, given.width)
            self.positions = nn.Parameter(torch.randn(CONTEXT, given.width) / 50)
            self.layers = nn.ModuleList(
                nn.TransformerEncoderLayer(
                    given.width, given.width // 64, 4 * given.width, 0.0, batch_first=True, norm_first=True
                )
                for _ in range(given.layers)
            )
            self.out = nn.Linear(given.width, 256)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            hidden = self.embedding(tokens) + self.positions
            mask = nn.Transformer.generate_square_subsequent_mask(CONTEXT, device=tokens.device)
            for layer in self.layers:
                hidden = layer(hidden, src_mask=mask, is_causal=True)
            logits: torch.Tensor = self.out(hidden)
            return logits

    torch.manual_seed(0)
    return Transformer().to(given.device)


def train(given: argparse.Namespace, text: Any, way: str, feature: str = "") -> dict[str, Any]:
    """Train by one way, and return the median time of a step in ms, the loss, and whether the replicas agree."""
    import torch
    import torch.distributed as dist
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
    from torch.nn.parallel import DistributedDataParallel

    import lanesum.torch

    cuda = given.device == "cuda"
    net = make_model(given)
    if feature == "graphed layer":
        sample = torch.randn(given.batch, CONTEXT, given.width, device="cuda", requires_grad=True)
        net.out = torch.cuda.make_graphed_callables(net.out, (sample,))
    if feature == "torch.compile":
        net = torch.compile(net)
    model = DistributedDataParallel(net)
    state = None
    if way == "fp16 hook":
        model.register_comm_hook(None, fp16_compress_hook)
    elif (codec := WAYS[way]) is not None:
        job = f"{way}-{feature}".replace(" ", "-").replace("=", "-")
        state = lanesum.torch.attach(model, job=job, admit=True, codec=codec, step_aside=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    scaler = torch.amp.GradScaler(given.device, enabled=feature == "GradScaler")
    precision = torch.float16 if cuda and feature == "GradScaler" else torch.bfloat16
    side = torch.cuda.Stream() if feature == "side stream" else None
    starts = torch.Generator().manual_seed(dist.get_rank() + 1)
    wait: Callable[[], object] = torch.cuda.synchronize if cuda else lambda: None
    times, losses = [], []
    for _ in range(given.steps):
        places = torch.randint(text.numel() - CONTEXT - 1, (given.batch,), generator=starts)
        rows = torch.stack([text[place : place + CONTEXT + 1] for place in places.tolist()])
        tokens = (rows.pin_memory() if cuda else rows).to(given.device, non_blocking=True).long()
        wait()
        began = time.perf_counter()
        if side is not None:
            side.wait_stream(torch.cuda.current_stream())
        with contextlib.nullcontext() if side is None else torch.cuda.stream(side):
            optimizer.zero_grad()
            with torch.autocast(given.device, precision):
                logits = model(tokens[:, :-1])
            loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        wait()
        times.append(1000 * (time.perf_counter() - began))
        losses.append(float(loss))
    weights = torch.cat([one.detach().float().flatten() for one in model.parameters()])
    others = [torch.empty_like(weights) for _ in range(dist.get_world_size())]
    dist.all_gather(others, weights)
    mean = torch.tensor(statistics.fmean(losses[-max(1, given.steps // 4) :]), device=given.device)
    dist.all_reduce(mean)
    figures = {
        "step_ms": round(statistics.median(times[given.steps // 4 :]), 2),
        "loss": float(mean) / dist.get_world_size(),
        "replicas_agree": all(torch.equal(one, weights) for one in others),
        "buckets": 0 if state is None else state.stats.buckets,
    }
    if state is not None:
        state.leave()
    return figures


def table(figures: dict[str, Any]) -> str:
    """Return the figures as text."""
    lines = [f"{figures['ranks']} ranks on {figures['device']['name']}; the process group is {figures['peer']}"]
    first = figures["trainings"]["process group"]["step_ms"]
    for way, one in figures["trainings"].items():
        agree = "replicas agree" if one["replicas_agree"] else "REPLICAS DIFFER"
        lines.append(
            f"{way:16} {one['step_ms']:9.1f} ms {first / one['step_ms']:6.2f} x  loss {one['loss']:.4f}  {agree}"
        )
    for name, (one, two) in figures["features"].items():
        lines.append(f"{name:16} loss {one:.4f} by the process group, {two:.4f} by fixed")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
