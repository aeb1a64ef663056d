# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Error feedback per parameter: what the codec could not say of a gradient is added to that parameter's next one.

DDP rebuilds its buckets after the first backward pass, so memory that is kept per bucket would be lost or, worse,
added to the wrong gradients; and a bucket is what is compressed, for fewer and fuller packets. Hence: gather the
parameters' memories into a bucket before the codec, scatter the codec's residual back after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from lanesum.codecs.base import Part
from lanesum.errors import ConfigurationError
from lanesum.gpu.staging import beside, on_host

#: An array, or a tensor of the device where the gradients are.
Vector: TypeAlias = "NDArray[np.float32] | torch.Tensor"


@dataclass(frozen=True, slots=True)
class _Kept:
    """A parameter's memory: where it lies in the residual of a bucket."""

    whole: Any
    start: int
    stop: int

    @property
    def own(self) -> Any:
        return self.whole[self.start : self.stop]


class ParameterMemory:
    """The residuals of one worker, one flat float32 vector per parameter: on the device where the gradients are, of
    which the calling thread's current stream is ``lanesum.gpu.staging``'s then.

    Args:
        names: parameter to name, for the keys of :meth:`state_dict`. A parameter without a name is known by its
            place in the order in which DDP first showed it, which is the same in every run of the same model.
    """

    def __init__(self, names: Mapping[torch.nn.Parameter, str] | None = None) -> None:
        self._names: dict[torch.nn.Parameter, str] = dict(names or {})
        self._memory: dict[str, _Kept] = {}

    def parts(self, parameters: Sequence[torch.nn.Parameter]) -> list[Part]:
        """Where the ``parameters`` of a bucket (in bucket order) lie in its flat buffer.

        Raises ConfigurationError where a parameter has another size than its memory, which can only come from a
        checkpoint of another model.
        """
        parts = []
        start = 0
        for parameter in parameters:
            # Tensors hash by identity: the same parameter after a rebuild is the same key.
            key = self._names.setdefault(parameter, f"#{len(self._names)}")
            part = Part(key, start, start + parameter.numel())
            kept = self._memory.get(key)
            if kept is not None and kept.stop - kept.start != parameter.numel():
                raise ConfigurationError(
                    f"Parameter {key!r} has {parameter.numel()} elements, its error-feedback memory "
                    f"{kept.stop - kept.start}.",
                    "Load the state of the same model, or start without one.",
                )
            parts.append(part)
            start = part.stop
        return parts

    def add_to(self, vector: Vector, parts: Sequence[Part]) -> Any:
        """A new vector: ``vector`` (float32, the whole bucket) plus what is remembered of its ``parts``."""
        if not isinstance(vector, np.ndarray):
            whole = self._residual_of(vector, parts)
            if whole is not None:
                return vector + whole  # one addition on the device, not one for each parameter
        total: Any = vector.copy() if isinstance(vector, np.ndarray) else vector.clone()
        for part in parts:
            kept = self._beside(vector, part)
            if kept is not None:
                total[part.start : part.stop] += kept
        return total

    def of(self, vector: torch.Tensor, parts: Sequence[Part]) -> torch.Tensor | None:
        """What is remembered of the ``parts`` of ``vector``, as long as it, for a codec that adds it itself and may
        overwrite it; None where there is nothing yet."""
        whole = self._residual_of(vector, parts)
        if whole is None and any(part.key in self._memory for part in parts):
            whole = torch.zeros_like(vector)
            for part in parts:
                kept = self._beside(vector, part)
                if kept is not None:
                    whole[part.start : part.stop] = kept
        return whole

    def _residual_of(self, vector: torch.Tensor, parts: Sequence[Part]) -> torch.Tensor | None:
        """The residual of a bucket of the same ``parts``, if that is what is remembered."""
        first = self._memory.get(parts[0].key) if parts else None
        if first is None or isinstance(first.whole, np.ndarray) or first.whole.device != vector.device:
            return None
        if first.whole.numel() != vector.numel():
            return None
        for part in parts:
            kept = self._memory.get(part.key)
            if kept is None or kept.whole is not first.whole or kept.start != part.start:
                return None
        return first.whole

    def _beside(self, vector: Vector, part: Part) -> Any:
        """What is remembered of a part, where ``vector`` is."""
        kept = self._memory.get(part.key)
        return None if kept is None else beside(kept.own, vector)

    def keep(self, residual: Vector, parts: Sequence[Part]) -> None:
        """Remember ``residual`` (float32, the whole bucket) for the next step; only after the bucket succeeded."""
        for part in parts:
            self._memory[part.key] = _Kept(residual, part.start, part.stop)

    def norms(self) -> dict[str, float]:
        """Euclidean norm of every parameter's memory: what is still unsaid."""
        return {key: float(np.linalg.norm(on_host(kept.own))) for key, kept in self._memory.items()}

    def state_dict(self) -> dict[str, torch.Tensor]:
        """The memory, copied: key to flat float32 CPU tensor (tensors, so that ``torch.load`` takes them back)."""
        return {key: torch.from_numpy(on_host(kept.own).copy()) for key, kept in self._memory.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace the memory; it goes to where the parameters are with their next gradients. Raises ConfigurationError,
        changing nothing, for what is no vector of numbers."""
        loaded = {}
        for key, kept in state.items():
            vector = torch.as_tensor(kept).detach().cpu().to(torch.float32).numpy().copy()
            if vector.ndim != 1 or not np.isfinite(vector).all():
                raise ConfigurationError(f"The error-feedback memory of {key!r} is not a vector of finite numbers.")
            loaded[str(key)] = _Kept(vector, 0, vector.size)
        self._memory = loaded
