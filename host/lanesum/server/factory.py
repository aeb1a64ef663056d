# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Choice of the server implementation: native if the extension is available, else Python."""

from __future__ import annotations

from pathlib import Path

from lanesum._internal.native import availability
from lanesum.server.aggregator import Aggregator
from lanesum.server.native_aggregator import NativeAggregator

AnyAggregator = Aggregator | NativeAggregator


def make_aggregator(journal_folder: Path | None = None, *, python: bool = False) -> AnyAggregator:
    """Return an aggregator; arguments as of ``Aggregator``.

    Args:
        journal_folder: see ``Aggregator``.
        python: use the Python implementation even if the native extension is available.

    Raises:
        ConfigurationError: LANESUM_NATIVE requires the extension, and it is not available.
    """
    core = None if python else availability().core
    return Aggregator(journal_folder) if core is None else NativeAggregator(core, journal_folder)
