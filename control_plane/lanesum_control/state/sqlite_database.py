# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""State of one controller in an SQLite file."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lanesum._internal.output_file import open_private
from lanesum.errors import ConfigurationError
from lanesum_control.errors import StoreError
from lanesum_control.state.schema import Row, prepare, verify, verify_types, version_of


class SqliteDatabase:
    """Opens or creates ``path``; None keeps the state in memory. Satisfies ``Database``.

    Only the owner can read the file. Write-ahead logging lets another process copy it meanwhile; ``FILE.lock`` keeps a
    second controller out. Raises StoreError.
    """

    term = 0
    next_event = "(SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'events')"

    def __init__(self, path: Path | None) -> None:
        self.name = str(path)
        self._lock_file = -1 if path is None else _locked(path)
        try:
            # Transactions begin explicitly.
            with self._typed_errors():
                self._connection = sqlite3.connect(
                    ":memory:" if path is None else path, isolation_level=None, timeout=2.0, check_same_thread=False
                )
        except StoreError:
            self._unlock()
            raise

    @classmethod
    def of(cls, connection: sqlite3.Connection, path: Path) -> SqliteDatabase:
        """Return the database of a connection that the caller closes."""
        database = cls.__new__(cls)
        database.name, database._connection, database._lock_file = str(path), connection, -1
        return database

    @contextlib.contextmanager
    def _typed_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.OperationalError, sqlite3.ProgrammingError) as error:
            locked = "locked" in str(error)
            next_step = "Another controller has it open: stop that one." if locked else "Check folder and permissions."
            raise StoreError(f"Cannot use the state file {self.name}: {error}.", next_step) from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise StoreError(
                f"The state file {self.name} is broken: {error}.", "Restore a backup, or move it away to begin anew."
            ) from error

    @property
    def in_transaction(self) -> bool:
        with self._typed_errors():
            return self._connection.in_transaction

    def open(self) -> None:
        version_of(self)  # before anything is written
        for setting in ("journal_mode = WAL", "foreign_keys = ON", "synchronous = FULL"):
            self.execute(f"PRAGMA {setting}")
        with self._typed_errors():
            verify(self._connection, self.name)
            prepare(self)
            verify_types(self._connection, self.name)

    def tables(self) -> set[str]:
        return {name for (name,) in self.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def define(self, statement: str) -> None:
        self.execute(statement)

    def execute(self, query: str, values: Sequence[object] = ()) -> list[Row]:
        with self._typed_errors():
            return self._connection.execute(query, values).fetchall()

    def execute_many(self, query: str, rows: Iterable[Sequence[object]]) -> None:
        with self._typed_errors():
            self._connection.executemany(query, rows)

    def begin(self, *, synced: bool = True) -> None:
        self.execute(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
        self.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self.execute("COMMIT")

    def rollback(self) -> None:
        if self.in_transaction:
            self.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock_file >= 0:
            os.close(self._lock_file)
            self._lock_file = -1


def _locked(path: Path) -> int:
    """Create the file if there is none, make it private, and return the open file that is its lock."""
    with contextlib.ExitStack() as on_error:
        try:
            lock = open_private(Path(f"{path}.lock"))
            on_error.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.close(open_private(path))
        except BlockingIOError as error:
            raise StoreError(
                f"Cannot use the state file {path}: it is locked.", "Another controller has it open: stop that one."
            ) from error
        except OSError as error:
            raise StoreError(
                f"Cannot use the state file {path}: {error.strerror}.", "Check folder and permissions."
            ) from error
        except ConfigurationError as error:
            raise StoreError(f"Cannot use the state file {path}. {error.what}", error.next_step) from error
        on_error.pop_all()
    return lock
