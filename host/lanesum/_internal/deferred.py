# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Work that is done once, at the first demand."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Deferred(Generic[T]):
    """Function that runs once, on the first call, while a round is in flight.

    Later callers, from any thread, wait for the first and receive the same value. So the result is right even if a
    driver ignores ``Round.overlap``.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work: Callable[[], T] | None = work
        self._lock = threading.Lock()
        self._value: list[T] = []

    def __call__(self) -> T:
        with self._lock:
            if self._work is not None:
                self._value.append(self._work())
                self._work = None
            return self._value[0]
