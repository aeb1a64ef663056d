# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers in the values of options."""

from __future__ import annotations

from lanesum.errors import ConfigurationError

_FACTORS = {"k": 1000, "M": 10**6, "G": 10**9}


def positive_number(flag: str, text: str, kind: type) -> int | float:
    """Return the number in the value of an option, such as ``25M``. Raises ConfigurationError."""
    try:
        number: int | float = kind(text.rstrip("kMG")) * _FACTORS.get(text[-1:], 1)
    except ValueError:
        number = 0
    if number <= 0:
        raise ConfigurationError(f"{flag}: {text!r} is no positive number.", "Write for example 1k,25M.")
    return number
