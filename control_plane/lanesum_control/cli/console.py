# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Console of the commands."""

from __future__ import annotations

import os

from rich.console import Console

_UNLIMITED = 1 << 16  # columns


def console() -> Console:
    """Return a console for standard output, which wraps lines only for a terminal or if COLUMNS is set.

    Programs that read the output of a pipe or file get every line whole.
    """
    found = Console(highlight=False)
    return found if found.is_terminal or "COLUMNS" in os.environ else Console(highlight=False, width=_UNLIMITED)
