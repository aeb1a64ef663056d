# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The interface of a switch port."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from lanesum_switch.api import SwitchError


class PortError(SwitchError):
    """A port cannot be opened or has failed."""


class Port(Protocol):
    """A port. ``PortRunner`` receives in one thread; any thread may send.

    A port may also have the methods ``backlog() -> int``, the number of frames that wait to be sent (``backlog_of``),
    and ``is_up() -> bool``, True while its link is up (``link_of``).
    """

    def fileno(self) -> int:
        """Return a descriptor that polls readable while frames wait."""

    def receive_batch(self) -> list[bytes]:
        """Return waiting frames, a bounded number of them; never block."""

    def send(self, frame: bytes) -> None:
        """Send a frame or drop it; never block, and do not raise for a dropped frame."""

    def close(self) -> None:
        """Close the descriptor; idempotent."""


def backlog_of(port: Port | None) -> int:
    """Return the number of frames that wait to be sent; 0 for a port without ``backlog``, and for no port."""
    backlog = getattr(port, "backlog", None)
    return 0 if backlog is None else int(backlog())


def link_of(port: Port) -> Callable[[], bool] | None:
    """Return the function that tells whether a port's link is up; None for a port without a link of its own."""
    is_up: Callable[[], bool] | None = getattr(port, "is_up", None)
    return is_up
