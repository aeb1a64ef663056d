# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Worker of ``lanesum bench step``: it trains a model of its own by each method, with the same weights and batches."""

from __future__ import annotations

import contextlib
import hashlib
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import lanesum.torch
from lanesum.errors import ConfigurationError
from lanesum_lab.bench.reducer import barrier, join_group
from lanesum_lab.train.loop import ONE_BUCKET_MIB
from lanesum_lab.train.methods import GLOO, PEERS

NCCL = "nccl"
TRANSFORMER, SMALL, TENSORS = "transformer", "small", "tensors"
MODELS = (TRANSFORMER, SMALL, TENSORS)
_DEADLINE_S = 120.0
_TOKENS = 256


def of_device(device: str) -> dict[str, str]:
    """Return the names of the peers on a device, and the method of ``lanesum_lab.train.methods`` that each is."""
    group = GLOO if device == "cpu" else NCCL
    return {by.replace(GLOO, group): by for by in PEERS if not by.startswith("two-shot") or device == "cpu"}


@dataclass(frozen=True, slots=True)
class ModelSize:
    """Size of a training.

    Attributes:
        kind: one of ``MODELS``: a transformer of bytes, 10,000 parameters, or 1,000 tensors of 8 values.
        width, layers: of the transformer; the width is a multiple of 64.
        context: tokens of a sequence.
        batch: sequences, or samples, of a worker in a step.
    """

    kind: str
    width: int
    layers: int
    context: int
    batch: int

    def __post_init__(self) -> None:
        if self.kind not in MODELS:
            raise ConfigurationError(f"There is no model {self.kind!r}.", f"Known ones: {', '.join(MODELS)}.")
        if min(self.width, self.layers, self.context, self.batch) < 1 or self.width % 64:
            raise ConfigurationError(
                f"width={self.width}, layers={self.layers}, context={self.context} and batch={self.batch} must be "
                "positive, and the width a multiple of 64."
            )


class Transformer(nn.Module):
    """Transformer that predicts the next byte."""

    def __init__(self, size: ModelSize) -> None:
        super().__init__()
        self.embedding = nn.Embedding(_TOKENS, size.width)
        self.positions = nn.Parameter(torch.randn(size.context, size.width) / 50)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                size.width, size.width // 64, 4 * size.width, 0.0, batch_first=True, norm_first=True
            )
            for _ in range(size.layers)
        )
        self.out = nn.Linear(size.width, _TOKENS)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the logits of the next bytes, of shape (batch, context, 256)."""
        hidden = self.embedding(tokens) + self.positions
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], device=tokens.device)
        for layer in self.layers:
            hidden = layer(hidden, src_mask=mask, is_causal=True)
        logits: torch.Tensor = self.out(hidden)
        return logits


class Tensors(nn.Module):
    """Sum of products with 1,000 tensors of 8 values."""

    def __init__(self) -> None:
        super().__init__()
        self.all = nn.ParameterList(nn.Parameter(torch.randn(8)) for _ in range(1000))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return one value for each input, of shape (batch, 8)."""
        return torch.stack([inputs @ one for one in self.all]).mean(0)


def make_model(size: ModelSize) -> nn.Module:
    """Return the model, with the same weights at each call."""
    torch.manual_seed(0)
    if size.kind == TRANSFORMER:
        return Transformer(size)
    if size.kind == TENSORS:
        return Tensors()
    return nn.Sequential(nn.Linear(100, 90), nn.ReLU(), nn.Linear(90, 10))


@dataclass(frozen=True, slots=True)
class Stepped:
    """Some steps at one worker. Times are of the system-wide monotonic clock.

    Attributes:
        loss: mean of the steps.
        chosen: the choice between lanesum and the process group, in words; empty without one.
        weights_sha256: SHA-256 of the weights after the steps.
    """

    begin: float
    end: float
    cpu_s: float
    loss: float
    chosen: str
    weights_sha256: str


class _Training:
    """Model, optimizer and data of one method."""

    def __init__(self, by: str, size: ModelSize, device: str, job: tuple[str, str] | None) -> None:
        self._size, self._device, self._step = size, device, 0
        peer = PEERS[of_device(device)[by]] if job is None else None
        self.model = DistributedDataParallel(
            make_model(size).to(device), bucket_cap_mb=ONE_BUCKET_MIB if peer and peer.one_bucket else None
        )
        self.state: lanesum.torch.State | None = None
        if job is not None:
            self.state = lanesum.torch.attach(self.model, controller=job[0], job=job[1], deadline_s=_DEADLINE_S)
        elif peer is not None and (hook := peer.hook()) is not None:
            self.model.register_comm_hook(*hook)
        self._optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)

    def _batch(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return inputs and targets of a step, the same for all methods, others at each worker."""
        made = torch.Generator().manual_seed(self._step * dist.get_world_size() + dist.get_rank())
        self._step += 1
        size = self._size
        if size.kind == TRANSFORMER:  # runs of bytes, so that there is something to learn
            first = torch.randint(_TOKENS, (size.batch, 1), generator=made)
            tokens = (first + torch.arange(size.context + 1)) % _TOKENS
            return tokens[:, :-1].to(self._device), tokens[:, 1:].to(self._device)
        inputs = torch.randn(size.batch, 100 if size.kind == SMALL else 8, generator=made)
        targets = inputs.sum(1, keepdim=size.kind == SMALL)
        return inputs.to(self._device), targets.to(self._device)

    def step(self) -> torch.Tensor:
        """Take one step; return its loss."""
        inputs, targets = self._batch()
        self._optimizer.zero_grad()
        cuda = self._device == "cuda"
        with torch.autocast("cuda", torch.bfloat16) if cuda else contextlib.nullcontext():
            found = self.model(inputs)
        if self._size.kind == TRANSFORMER:
            loss = nn.functional.cross_entropy(found.float().flatten(0, 1), targets.flatten())
        else:
            loss = (found.float() - targets).square().mean()
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        return loss.detach()


class Stepper:
    """Worker that takes steps by several methods, in a process of its own.

    Args:
        worker, workers: its number, and the number of workers.
        store: file in which the process group's processes find each other.
        interface: network interface of the process group.
        device: ``cpu``, or ``cuda`` where all workers share the GPU.
    """

    def __init__(self, worker: int, workers: int, store: str, interface: str, device: str) -> None:
        join_group(worker, workers, store, interface, device)
        if device == "cuda":
            torch.cuda.set_device(0)
        else:
            torch.set_num_threads(1)
        self._device = device
        self._trainings: dict[str, _Training] = {}

    def prepare(self, by: str, size: ModelSize, job: tuple[str, str] | None) -> dict[str, int]:
        """Make a training by a peer, or by the job with this controller and name.

        Returns:
            Number of parameters; of a job also the words of a packet and the slots.
        """
        made = self._trainings[by] = _Training(by, size, self._device, job)
        counts = {"parameters": sum(one.numel() for one in made.model.parameters())}
        if made.state is not None:
            ticket = made.state.session.ticket
            counts |= {"accumulator_words": ticket.accumulator_words, "slots": ticket.slots}
        return counts

    def take(self, by: str, steps: int) -> Stepped:
        """Take steps, once all workers are ready."""
        training = self._trainings[by]
        barrier()
        self._wait()
        cpu, begin = time.process_time(), time.monotonic()
        losses = [training.step() for _ in range(steps)]
        self._wait()
        end, cpu = time.monotonic(), time.process_time() - cpu
        weights = torch.cat([one.detach().flatten() for one in training.model.parameters()]).cpu()
        return Stepped(
            begin,
            end,
            cpu,
            float(torch.stack(losses).mean()),
            "" if training.state is None else training.state.stats.chosen,
            hashlib.sha256(weights.numpy().tobytes()).hexdigest(),
        )

    def _wait(self) -> None:
        if self._device == "cuda":
            torch.cuda.synchronize()

    def leave(self) -> None:
        """End all trainings, and leave their jobs."""
        for training in self._trainings.values():
            if training.state is not None:
                training.state.leave()
        self._trainings.clear()

    def close(self) -> None:
        """End the process: threads of the process group and of PyTorch's hooks outlive it."""
        from lanesum_lab.train.group import end_process

        if self._device == "cuda":
            barrier()  # NCCL aborts the last collective of others when one process ends
        end_process(0)
