# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that end with their parent: ``python child.py SIGNAL PARENT COMMAND...`` becomes such a command.

It imports the standard library alone, so that it starts in a few milliseconds.
"""

from __future__ import annotations

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1


def end_with_parent(signal: int, parent: int) -> None:
    """Let the kernel send ``signal`` to this process when the process ``parent``, which started it, has ended."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the call
        os.kill(os.getpid(), signal)


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]), int(sys.argv[2]))
    try:
        os.execvp(sys.argv[3], sys.argv[3:])
    except OSError as error:
        sys.exit(f"Cannot start {sys.argv[3]}: {error.strerror}.")
