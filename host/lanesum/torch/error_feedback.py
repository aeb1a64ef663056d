# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Error feedback of each parameter: the compression error of a gradient is added to the parameter's next gradient.

DDP rebuilds its buckets after the first backward pass. A residual kept for a bucket would be lost then or, worse, be
added to other gradients. But whole buckets are compressed, for fewer and fuller packets. So the residuals of parameters
are gathered into a bucket before the codec, and the codec's residual is split between them after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from lanesum.codecs.base import Part
from lanesum.errors import ConfigurationError
from lanesum.gpu.staging import needs_staging, to_device_of, to_host


@dataclass(frozen=True, slots=True)
class _Residual:
    """Residual of a parameter: elements ``start`` to ``stop`` of the residual of a bucket."""

    bucket: torch.Tensor
    start: int
    stop: int

    @property
    def own(self) -> torch.Tensor:
        return self.bucket[self.start : self.stop]


class ErrorFeedbackState:
    """Residuals of one worker: a flat float32 tensor for each parameter, on the device of the gradients.

    For tensors of a device, the calling thread's current stream must be that of ``lanesum.gpu.staging``.
    """

    def __init__(self) -> None:
        self._residuals: dict[str, _Residual] = {}

    def check_sizes(self, parts: Sequence[Part]) -> None:
        """Raise ConfigurationError if a parameter differs in size from its residual.

        That can only come from a checkpoint of another model.
        """
        for part in parts:
            residual = self._residuals.get(part.key)
            if residual is not None and residual.stop - residual.start != part.stop - part.start:
                raise ConfigurationError(
                    f"Parameter {part.key!r} has {part.stop - part.start} elements, its error feedback "
                    f"{residual.stop - residual.start}.",
                    "Load the state of the same model, or start without one.",
                )

    def add_to(self, bucket: torch.Tensor, parts: Sequence[Part]) -> torch.Tensor:
        """Return a new tensor: ``bucket`` (float32) plus the residuals of its ``parts``."""
        if not needs_staging(bucket.device):
            # By NumPy, in this thread alone: PyTorch's threads are busy with backward, and an addition waits for them.
            vector = bucket.numpy().copy()
            for part in parts:
                residual = self._get(bucket, part)
                if residual is not None:
                    vector[part.start : part.stop] += residual.numpy()
            return torch.from_numpy(vector)
        whole = self._residual_of(bucket, parts)
        if whole is not None:
            return bucket + whole  # one addition instead of one for each parameter
        total = bucket.clone()
        for part in parts:
            residual = self._get(bucket, part)
            if residual is not None:
                total[part.start : part.stop] += residual
        return total

    def gather(self, bucket: torch.Tensor, parts: Sequence[Part]) -> torch.Tensor | None:
        """Return the residuals of the ``parts`` in a tensor as long as ``bucket``, or None if there are none yet.

        For codecs that add it themselves, and that may overwrite it.
        """
        whole = self._residual_of(bucket, parts)
        if whole is None and any(part.key in self._residuals for part in parts):
            whole = torch.zeros_like(bucket)
            for part in parts:
                residual = self._get(bucket, part)
                if residual is not None:
                    whole[part.start : part.stop] = residual
        return whole

    def _residual_of(self, bucket: torch.Tensor, parts: Sequence[Part]) -> torch.Tensor | None:
        """Return the stored residual of a bucket with the same ``parts``, if all of them come from one such bucket."""
        first = self._residuals.get(parts[0].key) if parts else None
        if first is None or first.bucket.device != bucket.device or first.bucket.numel() != bucket.numel():
            return None
        for part in parts:
            residual = self._residuals.get(part.key)
            if residual is None or residual.bucket is not first.bucket or residual.start != part.start:
                return None
        return first.bucket

    def _get(self, bucket: torch.Tensor, part: Part) -> torch.Tensor | None:
        """Return the residual of a part on the device of ``bucket``."""
        residual = self._residuals.get(part.key)
        if residual is None:
            return None
        found: torch.Tensor = to_device_of(bucket, residual.own)
        return found

    def store(self, residual: torch.Tensor, parts: Sequence[Part]) -> None:
        """Store the ``residual`` (float32) of a bucket for the next step; only after the bucket succeeded."""
        for part in parts:
            self._residuals[part.key] = _Residual(residual, part.start, part.stop)

    def flush_to(self, bucket: torch.Tensor, parts: Sequence[Part]) -> None:
        """Add the residuals of its ``parts`` to a ``bucket`` that is summed without a codec, and forget them."""
        for part in parts:
            residual = self._get(bucket, part)
            if residual is not None:
                bucket[part.start : part.stop] += residual.to(bucket.dtype)
                del self._residuals[part.key]

    def norms(self) -> dict[str, float]:
        """Return the Euclidean norm of each parameter's residual."""
        return {key: float(torch.linalg.vector_norm(tensor)) for key, tensor in self.state_dict().items()}

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Return copies of the residuals: flat float32 CPU tensors by parameter name."""
        return {key: torch.from_numpy(to_host(one.own).copy()) for key, one in self._residuals.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace all residuals; each is copied to the device of the parameter's next gradient.

        Raises:
            ConfigurationError: a value is not a vector of finite numbers. Then no residual was replaced.
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
