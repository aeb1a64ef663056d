# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The line about a running launch: at the bottom of a terminal, or now and then as plain text."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import Mapping
from typing import Any

from lanesum.launch.run_folder import RunFolder
from lanesum.rpc import controller as rpc

_TERMINAL_S = 1.0
_PLAIN_S = 30.0
_CALL_S = 1.0


class Status:
    """Status line. Use as a context manager.

    On a terminal it has the last row, below a scrolling region with the output of the script.

    Args:
        folder: counts of the workers on this machine.
        controller: address of a controller that has no other jobs, which knows who sums; None if there is none.
    """

    def __init__(self, folder: RunFolder, controller: str | None) -> None:
        self._folder = folder
        self._controller = controller
        self._terminal = sys.stderr.isatty()
        self._rows = 0
        self._start = self._last = time.monotonic()
        self._steps = 0.0
        self._summed = ""

    def tick(self) -> None:
        """Show the line, if it is time to."""
        now = time.monotonic()
        if now - self._last < (_TERMINAL_S if self._terminal else _PLAIN_S):
            return
        line, steps = self._line(), self._total("steps")
        rate = f"{(steps - self._steps) / (now - self._last):.1f} steps/s, " if line else ""
        self._last, self._steps = now, steps
        if self._terminal:
            self._show(f"lanesum: {rate}{line or 'waiting for the workers to join'}")
        elif line:
            print(f"lanesum: {rate}{line}", file=sys.stderr, flush=True)

    def summary(self) -> str:
        """Return the line about the whole run; empty if no worker has joined a job."""
        return self._line()

    def _total(self, name: str) -> float:
        """Return a count: the largest for steps, which all workers take together, else the sum."""
        counts = [stats.get(name, 0.0) for stats in self._folder.stats()]
        return max(counts, default=0.0) if name == "steps" else sum(counts)

    def _line(self) -> str:
        stats = self._folder.stats()
        if not stats:
            return ""
        sent, plain = self._total("bytes_sent"), 4 * self._total("elements")
        again, packets = self._total("retransmissions"), self._total("packets_sent")
        saved = f", {1 - sent / plain:.0%} saved" if plain > sent else ""
        self._summed = self._who_sums() or self._summed
        return (
            f"{self._total('steps'):.0f} steps, {_bytes(sent)} sent instead of {_bytes(plain)} as float32{saved}, "
            f"{again:.0f} retransmissions ({again / max(packets, 1):.1%}){self._summed}"
        )

    def _who_sums(self) -> str:
        if self._controller is None:
            return ""
        try:
            counters = rpc.call(self._controller, rpc.COUNTERS, {}, _CALL_S)
        except rpc.ControllerError:
            return ""
        by = {name: _completed(counts) for name, counts in (counters["switches"] or {}).items()}
        by["server"] = _completed((counters["server"] or {}).get("decisions", {}))
        total = sum(by.values())
        shares = [f"{name} {count / total:.0%}" for name, count in by.items() if count]
        return f", summed by {' and '.join(shares)}" if shares else ""

    def _show(self, line: str) -> None:
        with contextlib.suppress(OSError):
            size = os.get_terminal_size(sys.stderr.fileno())
            if size.lines != self._rows:
                self._rows = size.lines
                # A new line first, so that the last row is free; then the region of all other rows, and the cursor.
                sys.stderr.write(f"\n\x1b7\x1b[1;{size.lines - 1}r\x1b8\x1b[1A")
            sys.stderr.write(f"\x1b7\x1b[{size.lines};1H\x1b[2K{line[: size.columns - 1]}\x1b8")
            sys.stderr.flush()

    def close(self) -> None:
        """Give the last row back to the terminal."""
        if self._rows:
            sys.stderr.write(f"\x1b7\x1b[r\x1b[{self._rows};1H\x1b[2K\x1b8")
            sys.stderr.flush()


def _completed(decisions: Mapping[str, Any]) -> int:
    return sum(count for decision, count in decisions.items() if decision.endswith("and_complete"))


def _bytes(count: float) -> str:
    unit = min(int(math.log10(max(count, 1)) / 3), 4)
    return f"{count / 1000**unit:.3g} {('B', 'kB', 'MB', 'GB', 'TB')[unit]}"
