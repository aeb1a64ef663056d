# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Which implementations a run is made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lanesum.errors import ConfigurationError
from lanesum.native import availability
from lanesum.server.aggregator import Aggregator
from lanesum.server.choose import AnyAggregator
from lanesum.server.native_aggregator import NativeAggregator


@dataclass(frozen=True, slots=True)
class Parts:
    """Compiled parts; all others are in Python.

    Attributes:
        native_server: the server.
    """

    native_server: bool = False

    def aggregator(self, folder: Path | None) -> AnyAggregator:
        """A new server. Raises ConfigurationError when it is to be compiled and is not there."""
        if not self.native_server:
            return Aggregator(folder)
        found = availability()
        if found.core is None:
            raise ConfigurationError(f"No compiled server to simulate: {found.reason}")
        return NativeAggregator(found.core, folder)


PYTHON = Parts()
