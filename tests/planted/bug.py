# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Planted bugs: each replaces one piece of text in one source file of the product."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bug:
    """In ``file``, which contains ``text`` exactly once, ``text`` becomes ``replacement``."""

    area: str
    file: str
    name: str
    text: str
    replacement: str

    def replaced(self, source: str) -> str:
        """Return the source with the bug. Raises ValueError if the text is not there exactly once."""
        if source.count(self.text) != 1:
            raise ValueError(f"{self.name}: {self.file} has {self.text!r} {source.count(self.text)} times.")
        return source.replace(self.text, self.replacement)

    def line_in(self, source: str) -> int:
        """Return the number of the line at which the text begins."""
        return source.count("\n", 0, source.index(self.text)) + 1


def bugs(area: str, file: str, *rows: tuple[str, str, str]) -> tuple[Bug, ...]:
    """Return the bugs of one file: rows of name, text, replacement."""
    return tuple(Bug(area, file, *row) for row in rows)
