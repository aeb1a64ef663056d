# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The learning task: scikit-learn's handwritten digits and a small convolutional network."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from lanesum.errors import ConfigurationError

# Images within scikit-learn: rows of 64 grey levels and the digit, separated by commas.
_IMAGES = Path("datasets", "data", "digits.csv.gz")
_SIDE = 8
# The test set is the same for every run, seed and number of workers.
_SPLIT_SEED = 2026
_TEST_IMAGES = 360
# Mean of the grey levels (0 to 1), and the factor that scales them to about unit variance.
_MEAN, _STRETCH = 0.3, 2.0


@dataclass(frozen=True, slots=True)
class Digits:
    """Grey images of 8x8, float32 of about unit variance, shape ``(n, 1, 8, 8)``, and digits, int64, shape ``(n,)``."""

    train_images: torch.Tensor
    train_labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor


def load_digits(limit: int | None = None) -> Digits:
    """Load the 1797 images of scikit-learn (UCI optical digits): 1437 for training, 360 for tests.

    ``limit``: number of training images to keep, for a quick run.
    """
    grey, digits = _rows()
    order = np.random.default_rng(_SPLIT_SEED).permutation(len(digits))
    images = torch.from_numpy(((grey[order] / 16.0 - _MEAN) * _STRETCH).astype(np.float32)).unsqueeze(1)
    labels = torch.from_numpy(digits[order].astype(np.int64))
    train = slice(_TEST_IMAGES, None if limit is None else _TEST_IMAGES + limit)
    return Digits(images[train], labels[train], images[:_TEST_IMAGES], labels[:_TEST_IMAGES])


def _rows() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return grey levels from 0 to 16, shape ``(1797, 8, 8)``, and digits."""
    # Importing scikit-learn takes as long as importing PyTorch; only its file is needed.
    spec = find_spec("sklearn")
    file = None if spec is None or spec.origin is None else Path(spec.origin).parent / _IMAGES
    if file is not None and file.exists():
        rows = np.loadtxt(file, delimiter=",")
        return rows[:, :-1].reshape(-1, _SIDE, _SIDE), rows[:, -1]
    from sklearn.datasets import load_digits as load

    bunch = load()
    return bunch.images, bunch.target


class DigitsNet(nn.Module):
    """Two convolutions and two linear layers; 16,290 parameters.

    Just below 2**14: THC pads to a power of two, so a step is 64 packets of 64 accumulator words per worker. No
    batch normalization: its running averages differ from rank to rank and would hide whether replicas agree.
    """

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 24, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(24 * 4 * 4, 32),
            nn.ReLU(),
            nn.Linear(32, 10),
        )
        # PyTorch's default initialization is too small for a network without normalization.
        for layer in self.layers:
            if isinstance(layer, (nn.Conv2d, nn.Linear)):
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
                assert layer.bias is not None
                nn.init.zeros_(layer.bias)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the logits, shape ``(n, 10)``."""
        logits: torch.Tensor = self.layers(images)
        return logits


class DigitsTask:
    """The digits as a job; see :class:`lanesum_lab.train.jobs.Task`. ``limit``: see :func:`load_digits`."""

    def __init__(self, limit: int | None = None) -> None:
        self.data = load_digits(limit)
        self.test = self.data.test_images, self.data.test_labels
        self.identity = hashlib.sha256(self.data.train_images.numpy().tobytes()).hexdigest()

    def model(self) -> nn.Module:
        """Return a new model."""
        return DigitsNet()

    def steps_per_epoch(self, workers: int, size: int) -> int:
        """Return the number of whole batches in every worker's shard. Raises ConfigurationError if it is 0."""
        images = len(self.data.train_labels)
        if steps := images // workers // size:
            return steps
        raise ConfigurationError(
            f"{images} images over {workers} workers do not make one batch of {size}.",
            "Take more images, or a smaller batch.",
        )

    def batch(self, step: int, rank: int, workers: int, size: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the rank's images of a step: every epoch has its own order, and ranks take turns in it."""
        epoch, number = divmod(step, self.steps_per_epoch(workers, size))
        order = self._order(seed * 1_000_003 + epoch)
        chosen = order[rank::workers][number * size : (number + 1) * size]
        return self.data.train_images[chosen], self.data.train_labels[chosen]

    def _order(self, seed: int) -> torch.Tensor:
        return torch.randperm(len(self.data.train_labels), generator=torch.Generator().manual_seed(seed))
