# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Bytes that the link of this process has carried."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lanesum.errors import ConfigurationError

_COUNTERS = Path("/proc/net/dev")  # of the network namespace of this process
_RECEIVED, _SENT = 0, 8  # columns


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes of whole frames, from the Ethernet header on."""

    sent: int = 0
    received: int = 0

    def __sub__(self, other: Traffic) -> Traffic:
        return Traffic(self.sent - other.sent, self.received - other.received)

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(self.sent + other.sent, self.received + other.received)

    @classmethod
    def of(cls, interface: str | None) -> Traffic:
        """Return the totals of an interface; zeros without one. Raises ConfigurationError if it does not exist."""
        if interface is None:
            return cls()
        for line in _COUNTERS.read_text().splitlines():
            name, _, counters = line.partition(":")
            if name.strip() == interface:
                columns = counters.split()
                return cls(int(columns[_SENT]), int(columns[_RECEIVED]))
        raise ConfigurationError(f"There is no interface {interface!r} in this network namespace.")
