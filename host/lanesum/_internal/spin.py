# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""How long the compiled part looks for packets before it sleeps."""

from __future__ import annotations

import os

from lanesum.errors import ConfigurationError

VARIABLE = "LANESUM_SPIN"
# About what it takes to be woken. Whoever else could use the processor has it between two looks.
DEFAULT_US = 30
# Beyond that nobody gains: to be woken takes tens of microseconds.
MOST_US = 1000


def longest_spin_s() -> float:
    """What ``LANESUM_SPIN`` says, in microseconds there; 0: sleep at once. Returns seconds.

    Raises ConfigurationError for what is no whole number of microseconds up to ``MOST_US``.
    """
    text = os.environ.get(VARIABLE, str(DEFAULT_US))
    if not (text.isascii() and text.isdigit() and int(text) <= MOST_US):
        raise ConfigurationError(f"{VARIABLE}={text} is no number of microseconds from 0 to {MOST_US}.")
    return int(text) / 1e6
