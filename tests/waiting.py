# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition that another thread or process meets."""

import contextlib
import time
from collections.abc import Callable

import pytest


def wait_until(condition: Callable[[], object]) -> None:
    """Return when the condition is true. The time limit of the test ends a wait that is in vain."""
    while not condition():
        time.sleep(0.02)


def with_longer_deadlines(attempt: Callable[[float], None]) -> None:
    """Call ``attempt`` with deadlines of 1, 8 and 64 seconds until it does not fail.

    For errors at a deadline that name what has happened before: on a busy machine it may not have happened in time.
    """
    for deadline_s in (1.0, 8.0):
        with contextlib.suppress(AssertionError, pytest.fail.Exception):
            return attempt(deadline_s)
    attempt(64.0)
