# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The line about a running launch: at the bottom of a terminal, or now and then as plain text."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import Iterable, Mapping

from lanesum.launch.run_folder import RunFolder

_TERMINAL_S = 1.0
_PLAIN_S = 30.0
_ADDED = ("bytes_up", "bytes_fp32", "packets_sent", "retransmissions", "chunks_by_switch", "chunks_by_server")

_TITLES = {"steps": "steps", "all_reduces": "all-reduces"}


class StatusLine:
    """Status line; ``close`` removes it.

    On a terminal it has the last row, below a scrolling region with the output of the script.

    Args:
        folder: counts of the workers on this machine.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._terminal = sys.stderr.isatty()
        self._rows = 0
        self._last = time.monotonic()
        self._before: dict[str, dict[str, float]] = {}

    def tick(self) -> None:
        """Show the line, if it is time to."""
        seconds = time.monotonic() - self._last
        if seconds < (_TERMINAL_S if self._terminal else _PLAIN_S):
            return
        line, stats = self.summary() or "no worker has joined the job yet", self._folder.stats()
        counted = _counted(stats.values())
        done = 0.0
        for name, counts in stats.items():
            now, before = counts.get(counted, 0.0), self._before.get(name, {}).get(counted, 0.0)
            # Ranks that were started again count anew, in the same file if their job has the same number.
            done = max(done, now - before if now >= before else now)
        self._before = stats
        self._last += seconds
        text = f"lanesum: {done / seconds:.1f} {_TITLES[counted]}/s, {line}"
        if self._terminal:
            self._show(text)
        else:
            print(text, file=sys.stderr, flush=True)

    def summary(self) -> str:
        """Return the counts of all workers; empty if none has joined a job."""
        stats = self._folder.stats().values()
        if not any(stats):
            return f"{len(stats)} workers joined the job" if stats else ""
        total = {name: sum(one.get(name, 0.0) for one in stats) for name in _ADDED}
        sent, plain, again = total["bytes_up"], total["bytes_fp32"], total["retransmissions"]
        saved = f", {1 - sent / plain:.0%} saved" if sent < plain else ""
        chunks = {who: total[f"chunks_by_{who}"] for who in ("switch", "server")}
        counted = _counted(stats)
        number = max(one.get(counted, 0.0) for one in stats)
        others = max(one.get("group_steps", 0.0) for one in stats)
        shares = [f"{who} {count / sum(chunks.values()):.0%}" for who, count in chunks.items() if count]
        return (
            f"{number:.0f} {_TITLES[counted]}, {_bytes(sent)} sent instead of {_bytes(plain)} "
            f"as float32{saved}, {again:.0f} retransmissions ({again / max(total['packets_sent'], 1):.1%})"
            + (f", summed by {' and '.join(shares)}" if shares else "")
            + (f", {others:.0f} steps averaged by the process group" if others else "")
        )

    def _show(self, line: str) -> None:
        with contextlib.suppress(OSError):
            size = os.get_terminal_size(sys.stderr.fileno())
            if size.lines != self._rows:
                self._rows = size.lines
                # Free the last row, let all other rows scroll, and put the cursor back there.
                sys.stderr.write(f"\n\x1b7\x1b[1;{size.lines - 1}r\x1b8\x1b[1A")
            sys.stderr.write(f"\x1b7\x1b[{size.lines};1H\x1b[2K{line[: size.columns - 1]}\x1b8")
            sys.stderr.flush()

    def close(self) -> None:
        """Give the last row back to the terminal; idempotent."""
        if self._rows:
            sys.stderr.write(f"\x1b7\x1b[r\x1b[{self._rows};1H\x1b[2K\x1b8")
            sys.stderr.flush()
            self._rows = 0


def _counted(stats: Iterable[Mapping[str, float]]) -> str:
    """Return the name of the count to show: steps of DDP; without one, all-reduces of FSDP2, backend and tensors."""
    done = {name for one in stats for name in ("steps", "all_reduces") if one.get(name)}
    return "all_reduces" if done == {"all_reduces"} else "steps"


def _bytes(count: float) -> str:
    unit = min(int(math.log10(max(count, 1)) / 3), 4)
    return f"{count / 1000**unit:.3g} {('B', 'kB', 'MB', 'GB', 'TB')[unit]}"
