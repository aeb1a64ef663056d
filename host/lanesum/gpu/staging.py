# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Copies between a device and the network: a stream of lanesum's own, pinned memory, and events.

docs/gpu.md, section "Waiting", has the order of the work, and which thread waits for what.

All sessions of the process share one :class:`CudaStaging` for each CUDA device. Any other device has a
:class:`Staging`: all work is done when a call returns, and events are always complete. So the same code runs without a
GPU.

Pinned memory comes from PyTorch's cache. Released memory is used again by later rounds, but not before the copies that
used it are complete.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray

from lanesum import environment
from lanesum.errors import ConfigurationError

VARIABLE = environment.GPU
_MODES = ("auto", "off", "interpret")


class StreamEvent(Protocol):
    """A point in a stream, as ``torch.cuda.Event``."""

    def query(self) -> bool:
        """Return True if all work before the event is complete; never wait."""

    def synchronize(self) -> None:
        """Let the calling thread wait for all work before the event; other threads run meanwhile."""


class _CompleteEvent:
    """Event of a device whose work is complete when the call returns."""

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass


class Staging:
    """Staging of a device without streams. Tensors are contiguous and one-dimensional; sizes count elements."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def record_event(self) -> StreamEvent:
        """Return an event behind all work launched so far in the calling thread's current stream."""
        return _CompleteEvent()

    def stream(self) -> contextlib.AbstractContextManager[object]:
        """Make lanesum's stream the thread's current one within a ``with`` block."""
        return contextlib.nullcontext()

    def wait_event(self, event: StreamEvent, *tensors: torch.Tensor) -> None:
        """Let lanesum's stream, not the thread, wait for ``event``.

        ``tensors`` were made in another stream and are used in this one: their memory is not reused before that use.
        """

    def hand_over(self, *tensors: torch.Tensor) -> None:
        """Let the calling thread's current stream, not the thread, wait for all work launched in lanesum's stream.

        ``tensors`` were made in lanesum's stream and are used in the current one from now on.
        """

    def empty_pinned(self, size: int, dtype: torch.dtype) -> torch.Tensor:
        """Return uninitialized host memory that the device can copy from and to by itself."""
        return torch.empty(size, dtype=dtype, device="cpu")  # whatever the program's default device is

    def copy_to_host(self, source: torch.Tensor, target: torch.Tensor) -> StreamEvent:
        """Launch, in the current stream, a copy from the device to pinned memory (``empty_pinned`` or a part of it).

        ``target`` holds the values once the returned event is complete. The two data types may differ.
        """
        target.copy_(source)
        return self.record_event()

    def copy_to_device(self, array: NDArray[Any], target: torch.Tensor | None = None) -> torch.Tensor:
        """Launch, in the current stream, a copy of ``array`` to the device, and return the copy.

        The copy is ``target`` or a new tensor. The caller may change the array at once.
        """
        source = _copied(array, torch.empty)
        return source.to(self.device) if target is None else target.copy_(source)


class _CudaEvent:
    def __init__(self, event: torch.cuda.Event, device: torch.device) -> None:
        self.event = event
        self._device = device

    def query(self) -> bool:
        with torch.cuda.device(self._device):
            return bool(self.event.query())

    def synchronize(self) -> None:
        with torch.cuda.device(self._device):
            self.event.synchronize()


class CudaStaging(Staging):
    """Staging of a CUDA device. Its stream has a high priority, because other workers wait for its work.

    A thread that has not chosen a device uses the first one. CUDA then takes half a gigabyte of that device for the
    process, even to query an event of another device. So every call sets ``torch.cuda.device``.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__(device)
        self._stream = torch.cuda.Stream(device, priority=-1)

    def record_event(self) -> StreamEvent:
        # A thread that waits for it sleeps, because a whole backward pass may come first.
        event = torch.cuda.Event(blocking=True)
        event.record(torch.cuda.current_stream(self.device))
        return _CudaEvent(event, self.device)

    @contextlib.contextmanager
    def stream(self) -> Iterator[None]:
        # At its end, torch.cuda.stream alone returns to the first device by a call that takes memory there.
        with torch.cuda.device(self.device), torch.cuda.stream(self._stream):
            yield

    def wait_event(self, event: StreamEvent, *tensors: torch.Tensor) -> None:
        assert isinstance(event, _CudaEvent)
        self._stream.wait_event(event.event)
        for tensor in tensors:
            tensor.record_stream(self._stream)

    def hand_over(self, *tensors: torch.Tensor) -> None:
        current = torch.cuda.current_stream(self.device)
        if current == self._stream:
            return
        current.wait_stream(self._stream)
        for tensor in tensors:
            tensor.record_stream(current)

    def empty_pinned(self, size: int, dtype: torch.dtype) -> torch.Tensor:
        with torch.cuda.device(self.device):
            return torch.empty(size, dtype=dtype, device="cpu", pin_memory=True)

    def copy_to_host(self, source: torch.Tensor, target: torch.Tensor) -> StreamEvent:
        if source.dtype != target.dtype:
            source = source.to(target.dtype)  # on the device: an asynchronous copy does not convert
        target.copy_(source, non_blocking=True)
        return self.record_event()

    def copy_to_device(self, array: NDArray[Any], target: torch.Tensor | None = None) -> torch.Tensor:
        source = _copied(array, self.empty_pinned)
        if target is None:
            target = torch.empty(source.shape, dtype=source.dtype, device=self.device)
        return target.copy_(source, non_blocking=True)


def _copied(array: NDArray[Any], empty: Callable[..., torch.Tensor]) -> torch.Tensor:
    """Return a copy in the memory of ``empty(size, dtype=...)``; ``torch.from_numpy`` refuses read-only arrays."""
    copy = empty(array.size, dtype=torch.from_numpy(np.empty(0, dtype=array.dtype)).dtype)
    copy.numpy()[...] = array
    return copy


_lock = threading.Lock()
_stagings: dict[torch.device, Staging] = {}


def staging_for(device: torch.device) -> Staging:
    """Return the process's staging of ``device``."""
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", torch.cuda.current_device())
    with _lock:
        if device not in _stagings:
            _stagings[device] = CudaStaging(device) if device.type == "cuda" else Staging(device)
        return _stagings[device]


def mode() -> str:
    """Return the value of ``LANESUM_GPU``: ``auto``, ``off`` or ``interpret``.

    With ``off``, codecs get vectors of the host only. With ``interpret``, for tests, tensors of the host are treated as
    a device's, and Triton must interpret the kernels.

    Raises ConfigurationError: the variable has another value.
    """
    text = os.environ.get(VARIABLE) or "auto"
    if text not in _MODES:
        raise ConfigurationError(
            f"Invalid {VARIABLE}={text!r}: expected one of {', '.join(_MODES)}.",
            f"Set one of them, or unset {VARIABLE}.",
        )
    return text


def needs_staging(device: torch.device) -> bool:
    """Return True if tensors of ``device`` have to be staged."""
    return device.type != "cpu" or mode() == "interpret"


def to_device_of(vector: NDArray[np.float32] | torch.Tensor, kept: NDArray[np.float32] | torch.Tensor) -> Any:
    """Return ``kept`` on the device of ``vector``; it may come from a checkpoint or from another device."""
    if isinstance(vector, np.ndarray):
        return to_host(kept)
    if not isinstance(kept, np.ndarray) and kept.device == vector.device:
        return kept
    staging = staging_for(vector.device)
    with staging.stream():
        return staging.copy_to_device(to_host(kept))


def to_host(vector: NDArray[np.float32] | torch.Tensor) -> NDArray[Any]:
    """Return a vector as a NumPy array, for checkpoints and rare cases; the calling thread waits for a device."""
    if isinstance(vector, np.ndarray):
        return vector
    if not needs_staging(vector.device):
        return cast("NDArray[np.float32]", vector.numpy())
    staging = staging_for(vector.device)
    with staging.stream():
        pinned = staging.empty_pinned(vector.numel(), vector.dtype)
        staging.copy_to_host(vector, pinned).synchronize()
    return pinned.numpy()
