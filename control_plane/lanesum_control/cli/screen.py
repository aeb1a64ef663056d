# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Screen of ``lanesum top``: one table that is scrolled, filtered and sorted, below one line for the rest; keys."""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import time
import tty
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from rich.console import ConsoleDimensions
from rich.text import Text

_HELP = "arrows pages: move  tab: table  o/r: sort  /: filter  q: quit"
_GAP = 2
_MAX_COLUMN = 28
_ALL = 1 << 30  # rows
_NUMBER = re.compile(r"-?[\d,]+(\.\d+)?")


@dataclass(frozen=True, slots=True)
class Section:
    """A table: titles of its columns, and rows of text."""

    titles: tuple[str, ...]
    rows: list[tuple[str, ...]]


@dataclass(slots=True)
class Screen:
    """State of the screen.

    Attributes:
        table: title of the table that is shown.
        sorted_by: column that the rows are sorted by; -1 for the controller's order.
        is_reversed: the smallest number, or the last text, comes first.
        text: only rows with this text are shown.
        message: shown in place of the keys.
    """

    table: str = "jobs"
    sorted_by: int = -1
    is_reversed: bool = False
    text: str = ""
    message: str = ""
    is_closed: bool = False
    _row: int = 0
    _column: int = 0
    _is_typing: bool = False
    _tables: list[str] = field(default_factory=list)
    _num_columns: int = 1
    _page: int = 1

    def press(self, key: str) -> None:
        """Change the state by a key, see ``Keys.read``."""
        if self._is_typing:
            self._type(key)
            return
        if key in ("o", "r", "/"):
            self._row = 0  # other rows come first
        steps = {"up": -1, "down": 1, "page up": -self._page, "page down": self._page, "home": -_ALL, "end": _ALL}
        if key in steps:
            self._row += steps[key]
        elif key in ("left", "right"):
            self._column += 1 if key == "right" else -1
        elif key == "\t" and self._tables:
            at = self._tables.index(self.table) if self.table in self._tables else -1
            self.table = self._tables[(at + 1) % len(self._tables)]
            self._row = self._column = 0
            self.sorted_by, self.is_reversed = -1, False
        elif key == "o":
            self.sorted_by = (self.sorted_by + 2) % (self._num_columns + 1) - 1
        elif key == "r":
            self.is_reversed = not self.is_reversed
        elif key == "/":
            self._is_typing, self.text = True, ""
        elif key == "escape":
            self.text = ""
        elif key == "q":
            self.is_closed = True

    def _type(self, key: str) -> None:
        """Change the filter's text."""
        if key in ("enter", "escape"):
            self._is_typing = False
            self.text = self.text if key == "enter" else ""
        elif key == "backspace":
            self.text = self.text[:-1]
        elif key.isprintable() and len(key) == 1:
            self.text += key

    def render(self, sections: Mapping[str, Section], size: ConsoleDimensions, notes: Sequence[str] = ()) -> Text:
        """Return the screen: other tables in a line each, then the rows that fit."""
        self._tables = list(sections)
        section = sections.get(self.table) or Section((), [])
        self._num_columns = len(section.titles)
        others = [name for name in sections if name not in (self.table, "workers", "tables")]
        above = [_summary(name, sections[name]) for name in others]
        rows = self._selected(section)
        height = max(1, size.height - len(above) - len(notes) - 3)
        self._page = height
        self._row = max(0, min(self._row, len(rows) - height))
        self._column = max(0, min(self._column, len(section.titles) - 2))
        shown = rows[self._row : self._row + height]
        widths = _widths([section.titles, *rows])
        columns = self._columns(widths, size.width)
        title = f"{self.table} {self._row + 1 if rows else 0}-{self._row + len(shown)} of {len(rows)}"
        if self.sorted_by >= 0:
            title += f", by {section.titles[self.sorted_by]}{' reversed' if self.is_reversed else ''}"
        if self.text or self._is_typing:
            title += f", with {self.text!r}{'_' if self._is_typing else ''}"
        lines = [Text(line[: size.width]) for line in (*above, *notes)]
        lines.append(Text(title[: size.width], style="bold"))
        lines.append(Text(_line(section.titles, columns, widths)[: size.width], style="reverse"))
        lines += [Text(_line(row, columns, widths)[: size.width]) for row in shown]
        lines += [Text()] * (height - len(shown))
        lines.append(Text((self.message or _HELP)[: size.width], style="dim"))
        return Text("\n").join(lines)

    def _selected(self, section: Section) -> list[tuple[str, ...]]:
        wanted = self.text.lower()
        rows = [row for row in section.rows if wanted in " ".join(row).lower()]
        if 0 <= self.sorted_by < len(section.titles):
            rows.sort(key=lambda row: _order(row[self.sorted_by]), reverse=self.is_reversed)
        elif self.is_reversed:
            rows.reverse()
        return rows

    def _columns(self, widths: Sequence[int], width: int) -> list[int]:
        """Return the first column and those from the chosen one on, as far as there is room."""
        columns, used = [0], widths[0] if widths else 0
        for number in range(1 + self._column, len(widths)):
            used += _GAP + widths[number]
            if used > width and len(columns) > 1:
                break
            columns.append(number)
        return columns if widths else []


def _order(cell: str) -> tuple[int, float, str]:
    """Return the key that sorts cells: large numbers first, then text; a dash is last."""
    found = _NUMBER.match(cell)
    if found is not None and cell != "-":
        return 0, -float(found[0].replace(",", "")), cell
    return (2 if cell == "-" else 1), 0.0, cell.lower()


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [min(_MAX_COLUMN, max(map(len, cells))) for cells in zip(*rows, strict=True)]


def _line(row: Sequence[str], columns: Sequence[int], widths: Sequence[int]) -> str:
    """Return the cells of ``columns``; the last one is not cut."""
    cells = [row[at] if at == columns[-1] else _cut(row[at], widths[at]) for at in columns]
    return (" " * _GAP).join(f"{cell:<{widths[at]}}" for at, cell in zip(columns, cells, strict=True))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _summary(name: str, section: Section) -> str:
    """Return a table in one line: its rows whose state is not up, else all of them."""
    if "state" not in section.titles:
        return f"{name}: {len(section.rows)}"
    states = {row[0]: row[section.titles.index("state")] for row in section.rows}
    down = [f"{one} {state}" for one, state in states.items() if state != "up"]
    up = [one for one, state in states.items() if state == "up"]
    words = [*down, f"{', '.join(up)} up"] if up else down
    return f"{name}: {'; '.join(words)}"


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
