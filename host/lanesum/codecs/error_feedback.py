# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Error feedback: the compression error of one all-reduce is added to the next vector (Seide et al. 2014; THC 1.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import Codec, CodecContext, CodecError, RoundShape, Steps, Vector, as_stateful


class ErrorFeedback:
    """Codec around a codec, with a memory of the compression error for each tensor name.

    The memory differs between workers. It is float32, as long as the tensor, and changes only when an all-reduce has
    completed, so a failed one can be repeated. A vector that a quorum left out stays in memory whole. Two concurrent
    all-reduces of the *same* tensor are not safe; different tensors are independent.
    """

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        #: Traits of the inner codec. The memory of device tensors is on the device.
        self.traits = replace(
            codec.traits, nearly_exact=False, keeps_error_feedback=True, adds_error_feedback=False, stateful=True
        )
        # Arrays, or tensors of the device of the last vectors.
        self._memory: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """Name of the inner codec."""
        return self.codec.name

    @property
    def workers(self) -> int:
        """Maximum number of workers of the inner codec."""
        return self.codec.workers

    @property
    def code_table(self) -> NDArray[np.uint8] | None:
        """Code table of the inner codec."""
        return self.codec.code_table

    def describe(self) -> str:
        """Return the description of the inner codec. The memory does not change the meaning of words."""
        return self.codec.describe()

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return the rounds of the inner codec."""
        return self.codec.shapes(size)

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """Run the inner codec on ``x`` plus the memory of ``context.tensor``.

        Raises CodecError if the context names no tensor, or if the length of the tensor has changed.
        """
        key = context.tensor
        if not key:
            raise CodecError("Error feedback requires the name of the tensor.", "Set CodecContext.tensor.")
        memory = self._memory.get(key)
        if memory is not None:
            if np.shape(x) != memory.shape:
                raise CodecError(
                    f"Tensor {key!r} has shape {np.shape(x)}, but its error-feedback memory has {memory.shape}.",
                    f"Call forget({key!r}) where the tensor was rebuilt, or name it differently.",
                )
            if self.codec.traits.adds_error_feedback and not isinstance(x, np.ndarray):
                context = replace(context, error_feedback=_beside(x, memory))
            else:
                x = _sum(x, memory)
        result = yield from self.codec.all_reduce(x, replace(context, keep_residual=True))
        if result.skipped is None:
            assert result.residual is not None
            self._memory[key] = result.residual
        return result

    def memory(self, tensor: str) -> Vector | None:
        """Return a copy of the memory of ``tensor`` (float32), or None."""
        kept = self._memory.get(tensor)
        return None if kept is None else _copied(kept)

    def forget(self, tensor: str | None = None) -> None:
        """Drop the memory of ``tensor``, or of all tensors. An unknown name is no error."""
        if tensor is None:
            self._memory.clear()
        else:
            self._memory.pop(tensor, None)

    def state_dict(self) -> dict[str, Any]:
        """Return a copy for a checkpoint: ``{"codec": name, "memory": {tensor: float32 array}}``.

        ``"inner"`` is the state of a stateful inner codec.
        """
        state: dict[str, Any] = {
            "codec": self.name,
            "memory": {key: _copied(kept) for key, kept in self._memory.items()},
        }
        inner = as_stateful(self.codec)
        return state if inner is None else {**state, "inner": inner.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace the memory by that of a :meth:`state_dict`. Raises CodecError, changing nothing, if it is invalid."""
        loaded = checked_memory(state.get("memory"))
        if state.get("codec") != self.name:
            raise CodecError(f"This error-feedback state is of codec {state.get('codec')!r}, not {self.name!r}.")
        inner = as_stateful(self.codec)
        if inner is not None:
            inner.load_state_dict(state.get("inner", {}))
        self._memory = loaded


def _sum(x: Any, memory: Any) -> Any:
    """Return the sum as a new vector on the device of ``x``."""
    if isinstance(x, np.ndarray):
        return x + _beside(x, memory)
    from lanesum.gpu.staging import staging_for

    with staging_for(x.device).stream():
        return x + _beside(x, memory)


def _beside(x: Any, memory: Any) -> Any:
    """Return ``memory`` on the device of ``x``. PyTorch is imported only for a device."""
    if isinstance(x, np.ndarray) and isinstance(memory, np.ndarray):
        return memory
    from lanesum.gpu.staging import to_device_of

    return to_device_of(x, memory)


def _copied(memory: Any) -> Vector:
    if isinstance(memory, np.ndarray):
        return memory.copy()
    from lanesum.gpu.staging import to_host

    return to_host(memory).copy()


def checked_memory(memory: Any) -> dict[str, Vector]:
    """Return a copy of the ``memory`` of a checkpoint. Raises CodecError if it is invalid."""
    if not isinstance(memory, Mapping):
        raise CodecError("This is not an error-feedback state: it has no 'memory'.")
    loaded = {}
    for key, kept in memory.items():
        array = plain_array(kept)
        if array.ndim != 1 or not np.isfinite(array).all():
            raise CodecError(f"The error-feedback memory of {key!r} is not a vector of finite numbers.")
        loaded[str(key)] = array
    return loaded


def plain_array(kept: Any) -> NDArray[np.float32]:
    """Return a float32 copy of an array of a checkpoint, which may be a tensor."""
    return np.array(kept.detach().cpu().float().numpy() if hasattr(kept, "detach") else kept, dtype=np.float32)
