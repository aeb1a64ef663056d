# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients recorded from training, one per worker at the same weights. Needs PyTorch.

``digits`` is the training job of the repository. The transformers learn to continue Python source text, byte by byte or
word by word: they are small, but have embeddings, attention and normalization, whose gradients differ in scale.
"""

from __future__ import annotations

import argparse
import ast
import functools
import inspect
import itertools
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from lanesum_lab.torch_threads import one_thread
from lanesum_lab.train.source_text import CausalTransformer, WordTask
from lanesum_lab.train.task import DigitsNet, load_digits

Vector = NDArray[np.float32]

# Context length of the transformers, in bytes or words.
_CONTEXT = 64
_BATCH = 8
# Distance between the stretches of the test.
_TEST_STEP = 401
# Deviation of the noise of images, and the seed of that of the test.
_NOISE, _TEST_SEED = 0.5, 99
# The text: modules of the standard library.
_TEXT = (argparse, ast, inspect, typing)


@dataclass(frozen=True)
class GradientTask:
    """A model and its training data.

    Attributes:
        batch: draws inputs and targets, different ones in every call.
        test: inputs and targets that no batch contains.
        lr: learning rate for SGD with momentum 0.9.
    """

    model: nn.Module
    batch: Callable[[], tuple[torch.Tensor, torch.Tensor]]
    test: tuple[torch.Tensor, torch.Tensor]
    lr: float


def digits_task(seed: int = 0) -> GradientTask:
    """Return the digits with batches of 32 images."""
    data = load_digits()
    generator = torch.Generator().manual_seed(seed)

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        chosen = torch.randint(len(data.train_labels), (32,), generator=generator)
        return data.train_images[chosen], data.train_labels[chosen]

    torch.manual_seed(seed)
    return GradientTask(DigitsNet(), batch, (data.test_images, data.test_labels), 0.05)


def noisy_digits_task(seed: int = 0) -> GradientTask:
    """Return the digits under new noise in every batch, for smooth activations: equivalent runs have equal losses."""
    clean, generator = digits_task(seed), torch.Generator().manual_seed(seed)
    data, test_noise = load_digits(), torch.Generator().manual_seed(_TEST_SEED)

    def noisy(images: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
        return images + _NOISE * torch.randn(images.shape, generator=noise)

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        chosen = torch.randint(len(data.train_labels), (32,), generator=generator)
        return noisy(data.train_images[chosen], generator), data.train_labels[chosen]

    smooth = {nn.ReLU: nn.GELU(), nn.MaxPool2d: nn.AvgPool2d(2)}
    layers = [smooth.get(type(layer), layer) for layer in typing.cast(DigitsNet, clean.model).layers]
    test = torch.cat([noisy(data.test_images, test_noise) for _ in range(8)]), data.test_labels.repeat(8)
    return GradientTask(nn.Sequential(*layers), batch, test, clean.lr)


def transformer_task(seed: int = 0, *, width: int = 64, layers: int = 2) -> GradientTask:
    """Return the transformer with batches of 8 stretches of bytes; the last tenth of the text is the test set."""
    source = "".join(inspect.getsource(module) for module in _TEXT).encode()
    text = torch.frombuffer(bytearray(source), dtype=torch.uint8).long()
    torch.manual_seed(seed)
    return _continuing(text, CausalTransformer(context=_CONTEXT, width=width, layers=layers), seed)


def word_transformer_task(seed: int = 0) -> GradientTask:
    """Return a transformer of 1,113,664 parameters with batches of 8 stretches of words, otherwise the same."""
    torch.manual_seed(seed)
    model = CausalTransformer(tokens=_words().words, context=_CONTEXT, width=96, layers=3)
    return _continuing(torch.from_numpy(_words().text), model, seed)


def _continuing(text: torch.Tensor, model: nn.Module, seed: int) -> GradientTask:
    """Return the task of continuing stretches of ``text``."""
    end = len(text) * 9 // 10
    generator = torch.Generator().manual_seed(seed)

    def rows(starts: Iterable[int]) -> tuple[torch.Tensor, torch.Tensor]:
        stretches = torch.stack([text[start : start + _CONTEXT + 1] for start in starts])
        return stretches[:, :-1], stretches[:, 1:]

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        return rows(torch.randint(end - _CONTEXT - 1, (_BATCH,), generator=generator).tolist())

    return GradientTask(model, batch, rows(range(end, len(text) - _CONTEXT - 1, _TEST_STEP)), 0.1)


@functools.cache
def _words() -> WordTask:
    return WordTask(300_000, words=4000, width=64)


def words_task(seed: int = 0) -> GradientTask:
    """Return the words of Python's standard library, a part of them, with batches of 64 words."""
    text, steps = _words(), itertools.count()

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        return text.batch(next(steps), 0, 1, 64, seed)

    torch.manual_seed(seed)
    return GradientTask(text.model(), batch, text.test, 0.5)


def large_transformer_task(seed: int = 0) -> GradientTask:
    """Return a transformer of 867,072 parameters, otherwise the same as :func:`transformer_task`."""
    return replace(transformer_task(seed), model=CausalTransformer())


#: Tasks by the name of their model.
TASKS: dict[str, Callable[[int], GradientTask]] = {
    "digits": digits_task,
    "noisy-digits": noisy_digits_task,
    "transformer": transformer_task,
    "small-transformer": functools.partial(transformer_task, width=48, layers=1),
    "large_transformer": large_transformer_task,
    "word_transformer": word_transformer_task,
    "words": words_task,
}
# Models that are trained with AdamW, not with SGD.
_WITH_ADAMW = ("large_transformer", "word_transformer")


def recorded(model: str, workers: int, records: int, seed: int = 0) -> list[list[Vector]]:
    """Return ``records`` times the gradients of ``workers`` workers at the same weights of a model.

    The model is trained with one batch per step; gradients are recorded every 20 steps from the 20th on.
    """
    task = TASKS[model](seed)
    parameters = task.model.parameters()
    optimizer: torch.optim.Optimizer
    if model in _WITH_ADAMW:
        optimizer = torch.optim.AdamW(parameters, lr=2e-3)
    else:
        optimizer = torch.optim.SGD(parameters, lr=task.lr, momentum=0.9)
    made: list[list[Vector]] = []
    with one_thread():
        for step in itertools.count(1):
            if len(made) == records:
                break
            if step % 20 == 0:
                made.append([gradient(task) for _ in range(workers)])
            _backward(task.model, *task.batch())
            optimizer.step()
    return made


def gradient(task: GradientTask) -> Vector:
    """Return the gradient of the next batch at the present weights, all parameters concatenated."""
    _backward(task.model, *task.batch())
    parts = [parameter.grad.reshape(-1) for parameter in task.model.parameters() if parameter.grad is not None]
    return torch.cat(parts).numpy().copy()


def loss_of(model: nn.Module, inputs: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy."""
    logits = model(inputs)
    found: torch.Tensor = nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), wanted.reshape(-1))
    return found


def _backward(model: nn.Module, inputs: torch.Tensor, wanted: torch.Tensor) -> None:
    model.zero_grad()
    loss_of(model, inputs, wanted).backward()  # type: ignore[no-untyped-call]  # PyTorch leaves it untyped
