# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Busy-poll limit of the native extension."""

from __future__ import annotations

import os

from lanesum import environment
from lanesum.errors import ConfigurationError

VARIABLE = environment.SPIN
# About as long as the wake-up of a thread. Other threads get the processor between two polls.
DEFAULT_US = 30
# A wake-up takes tens of microseconds, so longer polling gains nothing.
MAX_US = 1000


def max_spin_s() -> float:
    """Return the time to poll for packets before a thread sleeps, in seconds: LANESUM_SPIN, which is in microseconds.

    Raises:
        ConfigurationError: LANESUM_SPIN is no integer from 0 to ``MAX_US``.
    """
    text = os.environ.get(VARIABLE, str(DEFAULT_US))
    if not (text.isascii() and text.isdigit() and int(text) <= MAX_US):
        raise ConfigurationError(f"Invalid {VARIABLE}={text!r}: expected an integer from 0 to {MAX_US} (µs).")
    return int(text) / 1e6
