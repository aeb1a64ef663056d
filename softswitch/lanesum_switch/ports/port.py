# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The interface of a switch port."""

from __future__ import annotations

from typing import Protocol

from lanesum_switch.api import SwitchError


class PortError(SwitchError):
    """A port cannot be opened or has failed."""


class Port(Protocol):
    """Frames in and out of one port. ``PortRunner`` reads from one thread; ``send`` may come from any."""

    def fileno(self) -> int:
        """A descriptor that polls readable while frames wait."""

    def receive_batch(self) -> list[bytes]:
        """Frames that are waiting, a bounded number; empty where none is. Never blocks."""

    def send(self, frame: bytes) -> None:
        """Send a frame or drop it; never blocks, and raises nothing for what a network may do to a frame."""

    def close(self) -> None:
        """Give the descriptor back; idempotent."""
