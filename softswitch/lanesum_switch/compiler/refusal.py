# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Refusal of programs that a compiler pass cannot handle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lanesum_switch.api import UnsupportedProgramError

_ERRORS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, StopIteration, SyntaxError, TypeError,
    ValueError,
)  # fmt: skip


@contextmanager
def typed_refusal() -> Iterator[None]:
    """Raise UnsupportedProgramError for an error of a pass over a program that validation let through.

    The switch then keeps its previous program, and the controller gets a status instead of a broken call.
    """
    try:
        yield
    except _ERRORS as error:
        raise UnsupportedProgramError(
            f"The program cannot be compiled: {type(error).__name__}: {str(error)[:200]}.",
            "Compile it again with p4c; if that does not help, report it with the program.",
        ) from error
