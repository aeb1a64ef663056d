# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A fake device whose work is done late: a copy is not there before a thread has waited for it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

from lanesum.gpu.staging import Staging, StreamEvent

LOST = 0x5A5A5A5A  # content of pinned memory before the copy to it
WAIT_S = 60.0


class FakeEvent:
    """Complete when the ``gate`` is open."""

    def __init__(self, device: FakeDevice, gate: threading.Event | None) -> None:
        self._device = device
        self._gate = gate

    def query(self) -> bool:
        return self._gate is None or self._gate.is_set()

    def synchronize(self) -> None:
        self._device.note("synchronize")
        assert self._gate is None or self._gate.wait(WAIT_S), "the test never opens the gate"


class FakeCopy:
    """Event of a copy, which is done when a thread waits for it."""

    def __init__(self, device: FakeDevice, copy: Callable[[], object]) -> None:
        self._device = device
        self._copy: Callable[[], object] | None = copy
        self._lock = threading.Lock()

    def query(self) -> bool:
        return self._copy is None

    def synchronize(self) -> None:
        self._device.note("synchronize")
        with self._lock:
            if self._copy is not None:
                self._copy()
                self._copy = None


class FakeDevice(Staging):
    """Staging whose copies to pinned memory are done when a thread waits for their event, and not before.

    Attributes:
        log: names of calls and of their threads, in order.
        gates: of the next events in a stream of the caller. Without a gate, an event is complete at once.
    """

    def __init__(self) -> None:
        super().__init__(torch.device("cpu"))
        self.log: list[tuple[str, str]] = []
        self.gates: list[threading.Event] = []
        self._inside = threading.local()

    def note(self, call: str) -> None:
        self.log.append((call, threading.current_thread().name))

    def threads_of(self, call: str) -> list[str]:
        """Return the threads that have made this call."""
        return [thread for called, thread in self.log if called == call]

    def _is_inside(self) -> bool:
        return getattr(self._inside, "depth", 0) > 0

    def record_event(self) -> StreamEvent:
        self.note("record event")
        gate = self.gates.pop(0) if self.gates and not self._is_inside() else None
        return FakeEvent(self, gate)

    @contextlib.contextmanager
    def stream(self) -> Iterator[None]:
        self._inside.depth = getattr(self._inside, "depth", 0) + 1
        try:
            yield
        finally:
            self._inside.depth -= 1

    def wait_event(self, event: StreamEvent, *tensors: torch.Tensor) -> None:
        self.note("wait event")

    def hand_over(self, *tensors: torch.Tensor) -> None:
        self.note("hand over")

    def empty_pinned(self, size: int, dtype: torch.dtype) -> torch.Tensor:
        return super().empty_pinned(size, dtype).view(torch.int32).fill_(LOST).view(dtype)

    def copy_to_host(self, source: torch.Tensor, target: torch.Tensor) -> StreamEvent:
        assert self._is_inside(), "launched in a stream of the caller"
        self.note("copy to host")
        return FakeCopy(self, lambda: target.copy_(source))

    def copy_to_device(self, array: Any, target: torch.Tensor | None = None) -> torch.Tensor:
        assert self._is_inside(), "launched in a stream of the caller"
        self.note("copy to device")
        return super().copy_to_device(array, target)
