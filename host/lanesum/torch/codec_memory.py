# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Memory of a codec that keeps error feedback itself: it counts once a step has taken its gradient."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch

from lanesum.codecs.base import Codec, Part
from lanesum.codecs.parameter_state import memories_of
from lanesum.torch.loss_scale import LossScale
from lanesum.torch.step_tracker import StepTracker


class CodecMemory:
    """Memories of a ``codec`` by parameter, which follow the steps of optimizers and the scale of the loss.

    Attributes:
        scale: factor of the loss.
        steps: tracks the parameters.
    """

    def __init__(self, scaler: torch.amp.GradScaler | None, codec: Codec) -> None:
        self._memories, self.scale = memories_of(codec), LossScale(scaler)
        if not self._memories:
            warnings.warn(
                f"The memory of codec {codec.name} counts at once, also for gradients that no step takes. "
                "Pass the codec without ErrorFeedback around it, and error_feedback=True.",
                stacklevel=3,
            )
        self.steps = StepTracker(self._commit, self._drop, self._meet)

    def begin(self, parts: Sequence[Part]) -> None:
        """Prepare for the all-reduce of these parameters."""
        for memory in self._memories:
            memory.rescale(self.scale.value())
        for part in parts:
            if self.steps.watches(part.key):
                for memory in self._memories:
                    memory.open(part.key)
                self.steps.open(part.key)

    def clear(self) -> None:
        """Forget the open gradients, after a state was loaded."""
        self.steps.clear()
        self.scale.loaded = True

    def _commit(self, key: str) -> None:
        for memory in self._memories:
            memory.commit(key)

    def _drop(self, key: str) -> None:
        for memory in self._memories:
            memory.drop(key)

    def _meet(self, optimizer: torch.optim.Optimizer) -> None:
        if self.scale.meet(optimizer):
            for memory in self._memories:
                memory.scale = self.scale.value()
