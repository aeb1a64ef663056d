# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Results of one training on one rank."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Result of a test of the model.

    Attributes:
        step: number of completed steps.
        loss: mean cross entropy.
        accuracy: share of the targets that are the most likely class.
        train_s: seconds of all steps until then, without tests.
    """

    step: int
    loss: float
    accuracy: float
    train_s: float


@dataclass(slots=True)
class Curve:
    """Results of one training on one rank.

    Attributes:
        losses: loss of this rank's batch, one per step.
        step_s: seconds of every step.
        phases: seconds of all steps together, by phase: ``forward`` (data and forward pass), ``backward`` (with the
            communication that is not hidden behind it) and ``optimizer``.
        seconds: time of all steps and tests of this process.
        weights_sha256: SHA-256 of all parameters at the end; it differs between ranks if the replicas differ.
    """

    losses: list[float] = field(default_factory=list)
    tests: list[Evaluation] = field(default_factory=list)
    step_s: list[float] = field(default_factory=list)
    phases: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("forward", "backward", "optimizer"), 0.0))
    seconds: float = 0.0
    weights_sha256: str = ""
    elements: int = 0

    @property
    def accuracy(self) -> list[float]:
        """Share of correct test samples, one per test."""
        return [one.accuracy for one in self.tests]
