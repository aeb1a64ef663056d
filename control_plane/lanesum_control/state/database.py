# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Database of a controller's state, as ``Store`` and its schema use it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

Row = tuple[Any, ...]


class Database(Protocol):
    """Connection to SQLite or PostgreSQL. One thread at a time.

    Queries have the SQL that both share, with ``?`` for values. All methods raise StoreError.

    Attributes:
        name: the database in messages.
        term: number of the leadership for which this controller writes; 0 where no other controller can take over.
        next_event: SQL expression, the number of the next event.
    """

    name: str
    term: int
    next_event: str

    @property
    def in_transaction(self) -> bool:
        """True after ``begin``."""

    def open(self) -> None:
        """Check the tables, and create or migrate them. Raises SchemaError."""

    def tables(self) -> set[str]:
        """Return the names of all tables."""

    def define(self, statement: str) -> None:
        """Execute a statement of the schema, in the SQL of SQLite."""

    def execute(self, query: str, values: Sequence[object] = ()) -> list[Row]:
        """Execute a query; return its rows."""

    def execute_many(self, query: str, rows: Iterable[Sequence[object]]) -> None:
        """Execute a query for each of the rows."""

    def begin(self, *, synced: bool = True) -> None:
        """Begin a transaction; ``synced``: its end waits for the disk."""

    def commit(self) -> None:
        """End the transaction with its changes."""

    def rollback(self) -> None:
        """End the transaction without its changes, if it has not ended."""

    def close(self) -> None:
        """Disconnect; idempotent."""
