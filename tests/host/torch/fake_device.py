# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A device whose work happens late: what a thread has not waited for is not there."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

from lanesum.gpu.staging import Mark, Staging

LOST = 0x5A5A5A5A  # what is in pinned memory before the copy to it has happened
WAIT_S = 60.0


class FakeMark:
    """Reached when the ``gate`` is open."""

    def __init__(self, device: FakeDevice, gate: threading.Event | None) -> None:
        self._device = device
        self._gate = gate

    def reached(self) -> bool:
        return self._gate is None or self._gate.is_set()

    def wait(self) -> None:
        self._device.note("wait")
        assert self._gate is None or self._gate.wait(WAIT_S), "the test never lets it happen"


class FakeCopy:
    """Happens when somebody waits for it."""

    def __init__(self, device: FakeDevice, copy: Callable[[], object]) -> None:
        self._device = device
        self._copy: Callable[[], object] | None = copy
        self._lock = threading.Lock()

    def reached(self) -> bool:
        return self._copy is None

    def wait(self) -> None:
        self._device.note("wait")
        with self._lock:
            if self._copy is not None:
                self._copy()
                self._copy = None


class FakeDevice(Staging):
    """Copies to pinned memory happen when somebody waits for their mark, and not before.

    Attributes:
        log: what was called, and in which thread, in order.
        gates: for the next marks in a stream of the caller, what lets them happen; none: they may at once.
    """

    def __init__(self) -> None:
        super().__init__(torch.device("cpu"))
        self.log: list[tuple[str, str]] = []
        self.gates: list[threading.Event] = []
        self._inside = threading.local()

    def note(self, what: str) -> None:
        self.log.append((what, threading.current_thread().name))

    def of(self, what: str) -> list[str]:
        """Threads that have called it."""
        return [thread for called, thread in self.log if called == what]

    def _is_inside(self) -> bool:
        return getattr(self._inside, "depth", 0) > 0

    def mark(self) -> Mark:
        self.note("mark")
        gate = self.gates.pop(0) if self.gates and not self._is_inside() else None
        return FakeMark(self, gate)

    @contextlib.contextmanager
    def stream(self) -> Iterator[None]:
        self._inside.depth = getattr(self._inside, "depth", 0) + 1
        try:
            yield
        finally:
            self._inside.depth -= 1

    def follow(self, mark: Mark, *tensors: torch.Tensor) -> None:
        self.note("follow")

    def hand_over(self, *tensors: torch.Tensor) -> None:
        self.note("hand over")

    def pinned(self, size: int, dtype: torch.dtype) -> torch.Tensor:
        return super().pinned(size, dtype).view(torch.int32).fill_(LOST).view(dtype)

    def fetch(self, source: torch.Tensor, target: torch.Tensor) -> Mark:
        assert self._is_inside(), "launched in a stream of the caller's"
        self.note("fetch")
        return FakeCopy(self, lambda: target.copy_(source))

    def put(self, array: Any, target: torch.Tensor | None = None) -> torch.Tensor:
        assert self._is_inside(), "launched in a stream of the caller's"
        self.note("put")
        return super().put(array, target)
