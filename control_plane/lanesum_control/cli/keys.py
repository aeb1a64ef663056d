# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Keys of a terminal, one by one."""

from __future__ import annotations

import os
import select
import sys
import termios
import time
import tty
from types import TracebackType

# Names of the keys that are sequences of characters (ECMA-48, xterm).
_SEQUENCES = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1b[C": "right",
    "\x1b[D": "left",
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
    "\x1b[H": "home",
    "\x1b[F": "end",
    "\x1b[1~": "home",
    "\x1b[4~": "end",
    "\x1b": "escape",
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\x08": "backspace",
}
_MAX_READ = 64


class Keys:
    """Context in which standard input yields keys; without a terminal there it yields none."""

    def __init__(self) -> None:
        self._settings: list[object] | None = None

    def __enter__(self) -> Keys:
        if sys.stdin is not None and sys.stdin.isatty():
            self._settings = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._settings is not None:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._settings)  # type: ignore[arg-type]

    def read(self, timeout_s: float) -> str:
        """Return the next key, by its name or as a character; empty after the time, or without a terminal."""
        if self._settings is None:
            time.sleep(timeout_s)
            return ""
        if not select.select([sys.stdin], [], [], timeout_s)[0]:
            return ""
        text = os.read(sys.stdin.fileno(), _MAX_READ).decode(errors="replace")
        return _SEQUENCES.get(text, text)
