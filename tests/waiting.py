# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition that another thread or process meets."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object]) -> None:
    """Return when the condition is true. The time limit of the test ends a wait that is in vain."""
    while not condition():
        time.sleep(0.02)
