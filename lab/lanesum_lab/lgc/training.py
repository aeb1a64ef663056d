# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Training of the autoencoder with PyTorch, on one worker."""

from __future__ import annotations

import collections
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanesum.codecs.base import CodecError, Vector
from lanesum.codecs.error_feedback import plain_array
from lanesum.errors import MissingToolError
from lanesum_lab.lgc.network import BEFORE, LAYERS, SLOPE, STRIDE, Architecture
from lanesum_lab.torch_threads import one_thread

# Number of kept samples: training on the last one alone would forget the others.
_MAX_SAMPLES = 32
_RATE = 3e-3
# Entries of Adam's state with the shape of the parameter.
_MOMENTS = ("exp_avg", "exp_avg_sq")


def require_torch() -> None:
    """Raise MissingToolError if PyTorch is not installed."""
    if importlib.util.find_spec("torch") is None:
        raise MissingToolError(
            "Learned compression trains an autoencoder with PyTorch, which is not installed.",
            'Run: pip install "lanesum[torch]"',
        )


@dataclass(frozen=True)
class TrainingSample:
    """Training sample of one all-reduce.

    Attributes:
        values: normalized target vectors, one in each row (float32).
        scales: weight of each value (float32).
        sources: for each row, the row whose latents it is decoded from.
        heads: for each row, the head that decodes it.
    """

    values: Vector
    scales: Vector
    sources: tuple[int, ...]
    heads: tuple[int, ...]


class AutoencoderTrainer:
    """Training of an autoencoder: ``passes`` steps of Adam after each sample, on recent samples drawn at random.

    The loss is the squared error over the energy, in the units of the gradient. The training is deterministic: the same
    samples result in the same parameters, also with a checkpoint in between.
    """

    def __init__(self, architecture: Architecture, passes: int) -> None:
        require_torch()
        import torch

        self.architecture = architecture
        self.passes = passes
        self._torch = torch
        self._samples: collections.deque[TrainingSample] = collections.deque(maxlen=_MAX_SAMPLES)
        self._learned = 0
        self._parameters: dict[str, Any] = {}
        self._begin(architecture.initial(0))

    @property
    def parameters(self) -> dict[str, Vector]:
        """Copy of the current parameters (float32), by name."""
        return {name: one.detach().numpy().copy() for name, one in self._parameters.items()}

    def learn(self, sample: TrainingSample) -> float:
        """Add a sample, and return the mean loss of the steps: 0 is perfect, 1 is the loss of zeros.

        A step with gradients that are not finite is skipped. Such a step, after scales that differ by the range of
        float32, would destroy the autoencoder.
        """
        self._samples.append(sample)
        rng = np.random.default_rng([1, self._learned])
        self._learned += 1
        losses = []
        with one_thread(), self._torch.enable_grad():
            for choice in rng.integers(len(self._samples), size=self.passes).tolist():
                loss = self._loss(self._samples[choice])
                self._optimizer.zero_grad()
                loss.backward()
                # A single worker is always the leader, so one head has no gradient.
                found = [one.grad for one in self._parameters.values() if one.grad is not None]
                if all(bool(self._torch.isfinite(one).all()) for one in found):
                    self._optimizer.step()
                losses.append(loss.item())
        return float(np.mean(losses))

    def decoded(self, sample: TrainingSample) -> Vector:
        """Return the decoded vectors of a sample."""
        with self._torch.no_grad():
            rows: Vector = self._rows(sample).numpy()
        return rows

    def _rows(self, sample: TrainingSample) -> Any:
        functional, own = self._torch.nn.functional, self._parameters
        size = sample.values.shape[1]
        values = np.pad(sample.values, ((0, 0), (0, -size % STRIDE)))
        windows = self._torch.from_numpy(values)[:, None]
        latents = functional.conv1d(windows, own["encoder"], stride=STRIDE, padding=BEFORE)[list(sample.sources)]
        deep = latents
        for layer in range(LAYERS):
            deep = functional.conv_transpose1d(
                deep, own[f"up{layer}"], own[f"up{layer}.bias"], stride=2, padding=1, output_padding=1
            )
            deep = functional.leaky_relu(deep, SLOPE)
        rows = []
        for number, head in enumerate(sample.heads):
            row = (own[f"head{head}"][:, None] * deep[number]).sum(0) + own[f"head{head}.bias"]
            around = functional.conv_transpose1d(latents[number], own[f"around{head}"], stride=STRIDE, padding=BEFORE)
            rows.append((row + around[0])[:size])
        return self._torch.stack(rows)

    def _loss(self, sample: TrainingSample) -> Any:
        values, scales = self._torch.from_numpy(sample.values), self._torch.from_numpy(sample.scales)
        energy = ((values * scales) ** 2).sum()
        return (((self._rows(sample) - values) * scales) ** 2).sum() / energy.clamp(min=1e-30)

    def _begin(self, parameters: Mapping[str, Vector]) -> None:
        self._parameters = {
            name: self._torch.from_numpy(one.copy()).requires_grad_() for name, one in parameters.items()
        }
        self._optimizer = self._torch.optim.Adam(self._parameters.values(), lr=_RATE)

    def state_dict(self) -> dict[str, Any]:
        """Return a copy of the state for a checkpoint: arrays and numbers."""
        moments = {}
        for name, one in self._parameters.items():
            state = self._optimizer.state.get(one)
            if state:
                moments[name] = {key: plain_array(state[key]) for key in ("step", *_MOMENTS)}
        return {
            "parameters": self.parameters,
            "moments": moments,
            "learned": self._learned,
            # A dict by index: the conversion of arrays to tensors skips lists.
            "records": {
                str(number): {
                    "values": one.values.copy(),
                    "scales": one.scales.copy(),
                    "sources": list(one.sources),
                    "heads": list(one.heads),
                }
                for number, one in enumerate(self._samples)
            },
        }

    def load_state_dict(self, state: Any) -> None:
        """Replace the state by a ``state_dict`` of this architecture.

        Raises CodecError, changing nothing, if invalid.
        """
        try:
            parameters = self.architecture.checked(state["parameters"])
            records = [
                TrainingSample(
                    plain_array(one["values"]),
                    plain_array(one["scales"]),
                    tuple(one["sources"]),
                    tuple(one["heads"]),
                )
                for one in (state["records"][str(number)] for number in range(len(state["records"])))
            ]
            moments = {
                name: {key: self._torch.from_numpy(plain_array(one[key])) for key in one}
                for name, one in state["moments"].items()
            }
            learned = int(state["learned"])
            for name, one in moments.items():
                if {key: one[key].shape for key in _MOMENTS} != {key: parameters[name].shape for key in _MOMENTS}:
                    raise ValueError(f"moments of {name!r} have other shapes")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CodecError(f"This is not the state of an autoencoder in training: {error!r}.") from error
        self._begin(parameters)
        for name, one in moments.items():
            self._optimizer.state[self._parameters[name]] = one
        self._samples = collections.deque(records, maxlen=_MAX_SAMPLES)
        self._learned = learned
