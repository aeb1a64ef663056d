# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers in the values of options."""

from __future__ import annotations

from lanesum.errors import ConfigurationError

_FACTORS = {"k": 1000, "M": 10**6, "G": 10**9}


def positive_number(flag: str, text: str, kind: type, *, or_zero: bool = False) -> int | float:
    """Return the number in the value of an option, such as ``25M``. Raises ConfigurationError."""
    try:
        number: int | float = kind(text.rstrip("kMG")) * _FACTORS.get(text[-1:], 1)
    except ValueError:
        number = -1
    if not (number > 0 or (or_zero and number == 0)):
        what = "number from 0" if or_zero else "positive number"
        raise ConfigurationError(
            f"{flag}: {text!r} is no {what}.", f"Write for example {'0,0.5' if or_zero else '1k,25M'}."
        )
    return number
