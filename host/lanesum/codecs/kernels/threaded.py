# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Threads of the native kernels. Blocks are independent, so no bit depends on their number.

The environment variable ``LANESUM_THREADS`` sets the number for a process; the default is 1. The ranks of a job usually
share the cores of a machine already, and the network thread of a rank requires one, too. The threads belong to the
native extension (``host/native/src/threads``). The kernels in NumPy use one.
"""

from __future__ import annotations

import functools
import os

from lanesum import environment
from lanesum.errors import ConfigurationError

VARIABLE = environment.THREADS


def threads() -> int:
    """Return the number of threads of kernels. Raises ConfigurationError if the environment variable is invalid."""
    return _parsed(os.environ.get(VARIABLE, "1"))


@functools.cache
def _parsed(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 256:
        raise ConfigurationError(f"Invalid {VARIABLE}={text!r}: expected an integer from 1 to 256.")
    return int(text)
