# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients recorded from training, one of each worker at the same weights: what codecs are for. Needs PyTorch.

The digits are the repository's own training job. The transformer learns to continue Python source text, byte by byte:
small, but with embeddings, attention and normalization, whose gradients differ much in scale.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import itertools
import typing
from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from lanesum.train.task import DigitsNet, load_digits

Vector = NDArray[np.float32]

# Of the transformer: bytes that it looks back on, and width of a layer.
_CONTEXT, _WIDTH, _LAYERS, _HEADS = 64, 64, 2, 4
_VOCABULARY = 256
_BATCH = 8
# The text: modules that every Python has.
_TEXT = (argparse, ast, inspect, typing)


class TinyTransformer(nn.Module):
    """Two layers of causal attention over bytes; about 137,000 parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(_VOCABULARY, _WIDTH)
        self.places = nn.Embedding(_CONTEXT, _WIDTH)
        layer = nn.TransformerEncoderLayer(_WIDTH, _HEADS, 4 * _WIDTH, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, _LAYERS, enable_nested_tensor=False)
        self.logits = nn.Linear(_WIDTH, _VOCABULARY)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(_CONTEXT))

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        """Logits of the next byte, shape ``(n, context, 256)``, for bytes of shape ``(n, context)``."""
        x = self.tokens(text) + self.places(torch.arange(_CONTEXT))
        found: torch.Tensor = self.logits(self.layers(x, mask=self.mask, is_causal=True))
        return found


def digits(workers: int, records: int, seed: int = 0) -> list[list[Vector]]:
    """``records`` times the gradients of ``workers`` workers, each of a batch of 32 images, in the first epochs."""
    data = load_digits()
    generator = torch.Generator().manual_seed(seed)

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        chosen = torch.randint(len(data.train_labels), (32,), generator=generator)
        return data.train_images[chosen], data.train_labels[chosen]

    torch.manual_seed(seed)
    return _recorded(DigitsNet(), batch, workers, records, lr=0.05)


def transformer(workers: int, records: int, seed: int = 0) -> list[list[Vector]]:
    """The same of the transformer, each of a batch of 8 stretches of text."""
    source = "".join(inspect.getsource(module) for module in _TEXT).encode()
    text = torch.frombuffer(bytearray(source), dtype=torch.uint8).long()
    generator = torch.Generator().manual_seed(seed)

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        starts = torch.randint(len(text) - _CONTEXT - 1, (_BATCH,), generator=generator).tolist()
        rows = torch.stack([text[start : start + _CONTEXT + 1] for start in starts])
        return rows[:, :-1], rows[:, 1:]

    torch.manual_seed(seed)
    return _recorded(TinyTransformer(), batch, workers, records, lr=0.1)


def _recorded(
    model: nn.Module, batch: Callable[[], tuple[torch.Tensor, torch.Tensor]], workers: int, records: int, lr: float
) -> list[list[Vector]]:
    """Train with one batch a step, and record gradients of all workers every 20 steps, from the 20th on."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    recorded: list[list[Vector]] = []
    for step in itertools.count(1):
        if len(recorded) == records:
            return recorded
        if step % 20 == 0:
            recorded.append(list(_gradients(model, batch, workers)))
        _backward(model, *batch())
        optimizer.step()
    raise AssertionError("unreachable")


def _gradients(
    model: nn.Module, batch: Callable[[], tuple[torch.Tensor, torch.Tensor]], workers: int
) -> Iterator[Vector]:
    for _ in range(workers):
        _backward(model, *batch())
        parts = [parameter.grad.reshape(-1) for parameter in model.parameters() if parameter.grad is not None]
        yield torch.cat(parts).numpy().copy()


def _backward(model: nn.Module, inputs: torch.Tensor, wanted: torch.Tensor) -> None:
    model.zero_grad()
    logits = model(inputs)
    nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), wanted.reshape(-1)).backward()
