# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Error feedback of each parameter: the compression error of a gradient is added to the parameter's next gradient.

DDP rebuilds its buckets after the first backward pass. A residual kept for a bucket would be lost then or, worse, be
added to other gradients. But whole buckets are compressed, for fewer and fuller packets. So the residuals of parameters
are gathered into a bucket before the codec, and the codec's residual is split between them after it.

A residual counts once an optimizer has taken the step of its gradient. Without a step, that of the last step counts.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from lanesum.codecs.base import Codec, Part
from lanesum.errors import ConfigurationError
from lanesum.gpu.staging import needs_staging, to_device_of, to_host
from lanesum.torch.loss_scale import LossScale
from lanesum.torch.step_tracker import StepTracker


@dataclass(frozen=True, slots=True)
class _Residual:
    """Residual of a parameter, of a loss times ``scale``: elements ``start`` to ``stop`` of that of a bucket."""

    bucket: torch.Tensor
    start: int
    stop: int
    scale: float = 1.0

    @property
    def own(self) -> torch.Tensor:
        return self.bucket[self.start : self.stop]


class ErrorFeedbackState:
    """Residuals of one worker: a flat float32 tensor for each parameter, on the device of the gradients.

    For tensors of a device, the calling thread's current stream must be that of ``lanesum.gpu.staging``.

    Args:
        scaler: see :class:`LossScale`; it multiplies the residuals, too.
        codec: leaves the residuals. A warning tells of an optimizer that does not suit it.
        by_optimizer: keep no residuals of gradients of adaptive optimizers.

    Attributes:
        scale: factor of the loss.
        steps: tracks the parameters whose residuals count once a step has taken the gradient. Residuals of other
            parameters count at once.
    """

    def __init__(
        self, scaler: torch.amp.GradScaler | None = None, codec: Codec | None = None, *, by_optimizer: bool = False
    ) -> None:
        self._codec, self._by_optimizer = codec, by_optimizer
        self.scale = LossScale(scaler)
        self._residuals: dict[str, _Residual] = {}
        # Of gradients whose fate is open; None where nothing is left.
        self._pending: dict[str, _Residual | None] = {}
        self.steps = StepTracker(self._commit, self._drop, self._meet)

    @property
    def keeps(self) -> bool:
        """Return True if the next gradients leave residuals."""
        return not (self._by_optimizer and self.steps.adaptive)

    def _meet(self, optimizer: torch.optim.Optimizer) -> None:
        """Prepare for the first step of ``optimizer``."""
        if self.scale.meet(optimizer):
            scale = self.scale.value()
            for key, residual in self._pending.items():
                self._pending[key] = None if residual is None else replace(residual, scale=scale)
        if self._codec is not None:
            _warn_of(optimizer, self._codec)

    def _commit(self, key: str) -> None:
        residual = self._pending.pop(key, None)
        if residual is None:
            self._residuals.pop(key, None)
        else:
            self._residuals[key] = residual

    def _drop(self, key: str) -> None:
        self._pending.pop(key, None)

    def _current(self, key: str) -> _Residual | None:
        """Return the residual to add to the parameter's next gradient."""
        return self._pending[key] if key in self._pending else self._residuals.get(key)

    def check_sizes(self, parts: Sequence[Part]) -> None:
        """Raise ConfigurationError if a parameter differs in size from its residual.

        That can only come from a checkpoint of another model.
        """
        for part in parts:
            residual = self._current(part.key)
            if residual is not None and residual.stop - residual.start != part.stop - part.start:
                raise ConfigurationError(
                    f"Parameter {part.key!r} has {part.stop - part.start} elements, its error feedback "
                    f"{residual.stop - residual.start}.",
                    "Load the state of the same model, or start without one.",
                )

    def add_to(self, bucket: torch.Tensor, parts: Sequence[Part], scale: float = 1.0) -> torch.Tensor:
        """Return a new tensor: ``bucket`` (float32) of a loss times ``scale`` plus the residuals of its ``parts``."""
        if not needs_staging(bucket.device):
            # By NumPy, in this thread alone: PyTorch's threads are busy with backward, and an addition waits for them.
            vector = bucket.numpy().copy()
            for part in parts:
                found = self._current(part.key)
                if found is not None:
                    own = to_device_of(bucket, found.own).numpy()
                    vector[part.start : part.stop] += own if scale == found.scale else own * _factor(scale, found)
            return torch.from_numpy(vector)
        whole = self._residual_of(bucket, parts, scale)
        if whole is not None:
            return bucket + whole  # one addition instead of one for each parameter
        total = bucket.clone()
        for part in parts:
            residual = self._get(bucket, part, scale)
            if residual is not None:
                total[part.start : part.stop] += residual
        return total

    def gather(self, bucket: torch.Tensor, parts: Sequence[Part], scale: float = 1.0) -> torch.Tensor | None:
        """Return the residuals of the ``parts`` in a tensor as long as ``bucket``, or None if there are none yet.

        For codecs that add it themselves. They must not change it.
        """
        whole = self._residual_of(bucket, parts, scale)
        if whole is None and any(self._current(part.key) is not None for part in parts):
            whole = torch.zeros_like(bucket)
            for part in parts:
                residual = self._get(bucket, part, scale)
                if residual is not None:
                    whole[part.start : part.stop] = residual
        return whole

    def _residual_of(self, bucket: torch.Tensor, parts: Sequence[Part], scale: float) -> torch.Tensor | None:
        """Return the stored residual of a bucket with the same ``parts``, if all of them come from one such bucket."""
        first = self._current(parts[0].key) if parts else None
        if first is None or first.bucket.device != bucket.device or first.bucket.numel() != bucket.numel():
            return None
        for part in parts:
            residual = self._current(part.key)
            if residual is None or residual.bucket is not first.bucket or residual.start != part.start:
                return None
        return first.bucket if scale == first.scale else first.bucket * float(_factor(scale, first))

    def _get(self, bucket: torch.Tensor, part: Part, scale: float) -> torch.Tensor | None:
        """Return the residual of a part on the device of ``bucket``."""
        residual = self._current(part.key)
        if residual is None:
            return None
        found: torch.Tensor = to_device_of(bucket, residual.own)
        return found if scale == residual.scale else found * float(_factor(scale, residual))

    def store(self, residual: torch.Tensor | None, parts: Sequence[Part], scale: float = 1.0) -> None:
        """Store the ``residual`` (float32) of a bucket for the next step; only after the bucket succeeded.

        None: it leaves none, and has delivered that of the last step.
        """
        for part in parts:
            self._put(part.key, None if residual is None else _Residual(residual, part.start, part.stop, scale))

    def _put(self, key: str, residual: _Residual | None) -> None:
        self._pending[key] = residual
        if self.steps.watches(key):
            self.steps.open(key)
        else:
            self._commit(key)

    def flush_to(self, bucket: torch.Tensor, parts: Sequence[Part]) -> None:
        """Add the residuals of its ``parts`` to a ``bucket`` that is summed without a codec, which leaves none."""
        scale = self.scale.value()
        for part in parts:
            residual = self._get(bucket, part, scale)
            if residual is not None:
                bucket[part.start : part.stop] += residual.to(bucket.dtype)
                self._put(part.key, None)

    def norms(self) -> dict[str, float]:
        """Return the Euclidean norm of each parameter's residual."""
        return {key: float(torch.linalg.vector_norm(tensor)) for key, tensor in self.state_dict().items()}

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Return copies of the residuals of the last steps, for a scale of 1: flat float32 CPU tensors by parameter."""
        self.steps.find_taken()
        residuals = self._residuals.items()
        return {key: torch.from_numpy(to_host(one.own) * _factor(1.0, one)) for key, one in residuals}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace all residuals; each is copied to the device of the parameter's next gradient.

        Raises ConfigurationError: a value is not a vector of finite numbers. Then no residual was replaced.
        """
        loaded = {}
        for key, given in state.items():
            vector = torch.as_tensor(given).detach().to("cpu", torch.float32, copy=True)
            if vector.dim() != 1 or not vector.isfinite().all():
                raise ConfigurationError(
                    f"The error feedback of {key!r} is not a vector of finite numbers.",
                    "Load what state_dict() has returned, or start without it.",
                )
            loaded[str(key)] = _Residual(vector, 0, vector.numel())
        self._residuals = loaded
        self.scale.loaded = bool(loaded)
        self._pending.clear()
        self.steps.clear()


def _factor(scale: float, residual: _Residual) -> np.float32:
    """Return the factor that converts a residual to a loss times ``scale``."""
    return np.float32(scale / residual.scale)


def _warn_of(optimizer: torch.optim.Optimizer, codec: Codec) -> None:
    """Warn of an optimizer to which a codec that leaves out most values of a gradient does harm."""
    if codec.traits.max_nmse < 1:
        return
    kind, momentum = type(optimizer).__name__, max(one.get("momentum", 0) for one in optimizer.param_groups)
    if any("betas" in one for one in optimizer.param_groups):
        why = f"{kind} scales up the small ones, which then come late and all at once"
        advice = "Use codec thc, or SGD without momentum"
    elif momentum:
        why = f"the momentum of {kind} counts them late"
        advice = "Use codec thc, or momentum=0 with codec dgc of lanesum-lab, which corrects the momentum"
    else:
        return
    warnings.warn(
        f"Codec {codec.name} leaves out most values of a gradient, and {why}. {advice}; or sum the first steps "
        "exactly, by the warm_up of a policy.",
        stacklevel=2,
    )
