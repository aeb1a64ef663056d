# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of Markdown pages, and generated blocks of pages and sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. ``head``: titles of its columns."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def replace_generated(text: str, name: str, body: str, comment: str = "<!-- {} -->") -> str:
    """Replace the block of ``text`` between the ``generated: name`` markers. Raises ValueError without markers.

    ``comment``: a comment of the file's language.
    """
    start, end = comment.format(f"generated: {name}"), comment.format(f"end: {name}")
    head, found, rest = text.partition(start)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"no generated block {name!r}")
    return f"{head}{start}\n{body}\n{end}{tail}"
