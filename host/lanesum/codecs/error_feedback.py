# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Error feedback: what one round could not say is added to the next one's vector (Seide et al. 2014; THC 1.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import Codec, CodecContext, CodecError, RoundShape, Steps, Vector, as_stateful


class ErrorFeedback:
    """A policy around any codec, itself a codec: one memory per tensor name, on this worker only.

    The memory of a tensor (float32, as long as the tensor) changes only when its all-reduce completed, so a failed
    one can be tried again. What a quorum left out stays in memory whole. Not safe for two all-reduces of the *same*
    tensor at once; different tensors do not touch each other.
    """

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        #: Those of the codec inside; with device tensors the memory is on the device.
        self.traits = replace(
            codec.traits, nearly_exact=False, keeps_error_feedback=False, adds_memory=False, stateful=True
        )
        #: Arrays, or tensors of the device where the last vectors were.
        self._memory: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """Name of the codec inside."""
        return self.codec.name

    @property
    def workers(self) -> int:
        """Most workers that the codec inside serves."""
        return self.codec.workers

    @property
    def code_table(self) -> NDArray[np.uint8] | None:
        """Table of the codec inside."""
        return self.codec.code_table

    def describe(self) -> str:
        """Return the description of the codec inside: the memory does not change what words mean."""
        return self.codec.describe()

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Rounds of the codec inside."""
        return self.codec.shapes(size)

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """As the codec inside, for ``x`` plus the memory of ``context.tensor``.

        Raises CodecError if the context names no tensor, or if the tensor's length changed since last time.
        """
        key = context.tensor
        if not key:
            raise CodecError("Error feedback needs a name to remember the tensor by.", "Set CodecContext.tensor.")
        memory = self._memory.get(key)
        if memory is not None:
            if np.shape(x) != memory.shape:
                raise CodecError(
                    f"Tensor {key!r} has shape {np.shape(x)}, but its error-feedback memory has {memory.shape}.",
                    f"Call forget({key!r}) where the tensor was rebuilt, or name it differently.",
                )
            if self.codec.traits.adds_memory and not isinstance(x, np.ndarray):
                context = replace(context, memory=_beside(x, memory))
            else:
                x = _sum(x, memory)
        result = yield from self.codec.all_reduce(x, replace(context, keep_residual=True))
        assert result.residual is not None
        self._memory[key] = result.residual
        return result

    def memory(self, tensor: str) -> Vector | None:
        """A copy of what is remembered of ``tensor`` (float32), or None."""
        kept = self._memory.get(tensor)
        return None if kept is None else _copied(kept)

    def forget(self, tensor: str | None = None) -> None:
        """Drop the memory of ``tensor``, or of all; what is not there is no error."""
        if tensor is None:
            self._memory.clear()
        else:
            self._memory.pop(tensor, None)

    def state_dict(self) -> dict[str, Any]:
        """The memory, copied, for a checkpoint: ``{"codec": name, "memory": {tensor: float32 array}}``.

        And ``"inner"``, the state of the codec inside, where that has one.
        """
        state: dict[str, Any] = {
            "codec": self.name,
            "memory": {key: _copied(kept) for key, kept in self._memory.items()},
        }
        inner = as_stateful(self.codec)
        return state if inner is None else {**state, "inner": inner.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace the memory by a :meth:`state_dict`'s. Raises CodecError, changing nothing, if it is not one."""
        loaded = checked_memory(state.get("memory"))
        if state.get("codec") != self.name:
            raise CodecError(f"This error-feedback state is of codec {state.get('codec')!r}, not {self.name!r}.")
        inner = as_stateful(self.codec)
        if inner is not None:
            inner.load_state_dict(state.get("inner", {}))
        self._memory = loaded


def _sum(x: Any, memory: Any) -> Any:
    """A new vector, where ``x`` is."""
    if isinstance(x, np.ndarray):
        return x + _beside(x, memory)
    from lanesum.gpu.staging import staging_for

    with staging_for(x.device).stream():
        return x + _beside(x, memory)


def _beside(x: Any, memory: Any) -> Any:
    """``memory`` where ``x`` is; without a device, without PyTorch."""
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
    """A copy of a checkpoint's ``memory``, or the CodecError that says why it is none."""
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
    """A copy of a checkpoint's numbers, float32; it may have made tensors of them."""
    return np.array(kept.detach().cpu().numpy() if hasattr(kept, "detach") else kept, dtype=np.float32)
