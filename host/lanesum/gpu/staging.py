# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Between a device and the network: a stream of lanesum's own, pinned memory, and marks to wait for.

What is launched on a device happens later, in the order of its stream. A thread that computes gradients must never wait
for that; so it only leaves a :class:`Mark` behind what it has launched, and goes on. Whoever communicates has a stream
of its own wait for that mark, on the device; launches there all that can be launched, kernels and copies, with a mark
behind each piece; and waits, as a thread, for one piece's mark before it sends that piece.

A CUDA device has a :class:`CudaStaging`, which all sessions of the process share. Any other has a :class:`Staging`,
where everything has happened when a call returns, and marks are always reached: so the same code runs without a GPU.

Pinned memory comes from PyTorch's own cache: what was given back is there for the next rounds, but not before the
copies that used it have happened.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from lanesum.codecs.base import Codec
from lanesum.errors import ConfigurationError

VARIABLE = "LANESUM_GPU"
_MODES = ("auto", "off", "interpret")


class Mark(Protocol):
    """A point in a stream."""

    def reached(self) -> bool:
        """Everything before it has happened. Does not wait."""

    def wait(self) -> None:
        """The calling thread waits for that; others may run meanwhile."""


class _Reached:
    """Where things have happened when they were called for."""

    def reached(self) -> bool:
        return True

    def wait(self) -> None:
        pass


class Staging:
    """Of a device without streams. Tensors are torch's; sizes are in elements, arrays contiguous, of one dimension."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def mark(self) -> Mark:
        """Behind all that was launched so far in the calling thread's current stream."""
        return _Reached()

    def stream(self) -> contextlib.AbstractContextManager[object]:
        """Inside, lanesum's stream is the thread's current one: what is launched goes there."""
        return contextlib.nullcontext()

    def follow(self, mark: Mark, *tensors: torch.Tensor) -> None:
        """Lanesum's stream waits for ``mark`` from here on, the thread does not. ``tensors``: made on another stream,
        and used on this one; their memory is not given to anybody else before it is done with them."""

    def hand_over(self, *tensors: torch.Tensor) -> None:
        """The calling thread's current stream waits for all that was launched on lanesum's so far, the thread does not.
        ``tensors``: made on lanesum's stream, and used on the current one from here on."""

    def pinned(self, size: int, dtype: torch.dtype) -> torch.Tensor:
        """Memory of the host that the device copies from and to by itself; what is in it is undefined."""
        return torch.empty(size, dtype=dtype, device="cpu")  # whatever the program's default device is

    def fetch(self, source: torch.Tensor, target: torch.Tensor) -> Mark:
        """Launch, in the current stream, the copy of what is on the device to pinned memory (``pinned`` or a part of
        it), which holds it when the mark is reached. Types may differ."""
        target.copy_(source)
        return self.mark()

    def put(self, array: NDArray[Any], target: torch.Tensor | None = None) -> torch.Tensor:
        """Launch, in the current stream, the copy of ``array`` to the device: to ``target``, or a new tensor, which is
        returned. The array is the caller's again at once."""
        source = _copied(array, torch.empty)
        return source.to(self.device) if target is None else target.copy_(source)


class _CudaMark:
    def __init__(self, event: Any, device: torch.device) -> None:
        self.event = event
        self._device = device

    def reached(self) -> bool:
        with torch.cuda.device(self._device):
            return bool(self.event.query())

    def wait(self) -> None:
        with torch.cuda.device(self._device):
            self.event.synchronize()


class CudaStaging(Staging):
    """Of a CUDA device; its stream goes before others, because the other workers wait for what is launched there.

    A thread that has not chosen a device is on the first one, and CUDA takes half a gigabyte there for a process that
    asks something of it, be it whether an event of another device was reached. Hence ``torch.cuda.device`` around all.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__(device)
        self._stream = torch.cuda.Stream(device, priority=-1)

    def mark(self) -> Mark:
        # A thread that waits for it sleeps: it may be a whole backward pass away.
        event = torch.cuda.Event(blocking=True)
        event.record(torch.cuda.current_stream(self.device))
        return _CudaMark(event, self.device)

    @contextlib.contextmanager
    def stream(self) -> Iterator[None]:
        # By itself torch.cuda.stream would go back to the first device through a call that takes memory there.
        with torch.cuda.device(self.device), torch.cuda.stream(self._stream):
            yield

    def follow(self, mark: Mark, *tensors: torch.Tensor) -> None:
        assert isinstance(mark, _CudaMark)
        self._stream.wait_event(mark.event)
        for tensor in tensors:
            tensor.record_stream(self._stream)

    def hand_over(self, *tensors: torch.Tensor) -> None:
        current = torch.cuda.current_stream(self.device)
        if current == self._stream:
            return
        current.wait_stream(self._stream)
        for tensor in tensors:
            tensor.record_stream(current)

    def pinned(self, size: int, dtype: torch.dtype) -> torch.Tensor:
        with torch.cuda.device(self.device):
            return torch.empty(size, dtype=dtype, device="cpu", pin_memory=True)

    def fetch(self, source: torch.Tensor, target: torch.Tensor) -> Mark:
        if source.dtype != target.dtype:
            source = source.to(target.dtype)  # on the device: the copy could not be launched otherwise
        target.copy_(source, non_blocking=True)
        return self.mark()

    def put(self, array: NDArray[Any], target: torch.Tensor | None = None) -> torch.Tensor:
        between = _copied(array, self.pinned)
        if target is None:
            target = torch.empty(between.shape, dtype=between.dtype, device=self.device)
        return target.copy_(between, non_blocking=True)


def _copied(array: NDArray[Any], memory: Callable[..., torch.Tensor]) -> torch.Tensor:
    """A copy in ``memory`` of a size and type, which PyTorch makes no tensor of by itself where nobody may write."""
    copy = memory(array.size, dtype=torch.from_numpy(np.empty(0, dtype=array.dtype)).dtype)
    copy.numpy()[...] = array
    return copy


_lock = threading.Lock()
_stagings: dict[torch.device, Staging] = {}


def staging(device: torch.device) -> Staging:
    """The one of ``device`` in this process."""
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", torch.cuda.current_device())
    with _lock:
        if device not in _stagings:
            _stagings[device] = CudaStaging(device) if device.type == "cuda" else Staging(device)
        return _stagings[device]


def mode() -> str:
    """``LANESUM_GPU``: ``auto``; ``off``, where codecs see vectors of the host only; or ``interpret``, for tests, where
    tensors of the host are taken for a device's, and Triton has to interpret. Raises ConfigurationError for others."""
    text = os.environ.get(VARIABLE) or "auto"
    if text not in _MODES:
        raise ConfigurationError(f"{VARIABLE}={text} is none of {', '.join(_MODES)}.", f"Unset {VARIABLE}.")
    return text


def on_device(device: torch.device) -> bool:
    """Whether its tensors have to be staged."""
    return device.type != "cpu" or mode() == "interpret"


def codec_takes(codec: Codec, device: torch.device) -> bool:
    """Return True if ``codec`` has kernels for tensors of ``device``, and they are enabled."""
    if not codec.traits.accepts_device_tensors or not on_device(device):
        return False
    return device.type in ("cpu", "cuda") and mode() != "off"


def beside(kept: NDArray[np.float32] | torch.Tensor, vector: NDArray[np.float32] | torch.Tensor) -> Any:
    """What is ``kept`` of a vector, where the next ``vector`` is: it may come from a checkpoint, or from elsewhere."""
    if isinstance(vector, np.ndarray):
        return on_host(kept)
    if not isinstance(kept, np.ndarray) and kept.device == vector.device:
        return kept
    own = staging(vector.device)
    with own.stream():
        return own.put(on_host(kept))


def on_host(array: NDArray[np.float32] | torch.Tensor) -> NDArray[np.float32]:
    """A vector as NumPy's; where it is on a device, the calling thread waits for it. For checkpoints and the like."""
    if isinstance(array, np.ndarray):
        return array
    own = staging(array.device)
    with own.stream():
        pinned = own.pinned(array.numel(), array.dtype)
        own.fetch(array, pinned).wait()
    return pinned.numpy()
