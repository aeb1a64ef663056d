# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Which of the two servers: the compiled one where it is there, else the one in Python."""

from __future__ import annotations

from pathlib import Path

from lanesum._internal.native import availability
from lanesum.server.aggregator import Aggregator
from lanesum.server.native_aggregator import NativeAggregator

AnyAggregator = Aggregator | NativeAggregator


def make_aggregator(journal_folder: Path | None = None, *, python: bool = False) -> AnyAggregator:
    """The server's logic without sockets; see ``Aggregator``.

    ``python``: the one in Python in any case. Raises ConfigurationError when the environment requires the compiled part
    and it is not there.
    """
    native = None if python else availability().core
    return Aggregator(journal_folder) if native is None else NativeAggregator(native, journal_folder)
