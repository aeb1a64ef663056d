# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Database of the controller's state, and its schema: tables, version, migrations, and copies of SQLite files.

A change of the tables gets a new version, a migration from the version before, and a recorded file of the new version
in ``tests/recorded`` (see docs/upgrading.md). The statements are SQL of SQLite; ``Database.define`` translates them.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from lanesum_control.errors import SchemaError, StoreError

SCHEMA_VERSION = 6
_EVENTS = """
CREATE TABLE events (
    number INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, whom TEXT NOT NULL, what TEXT NOT NULL,
    actor TEXT NOT NULL, source TEXT NOT NULL, party TEXT NOT NULL
);
CREATE INDEX events_by_party ON events (party, number);
CREATE INDEX events_by_subject ON events (whom, number);
"""
# A drain without a job is one for all jobs; a tenant without a row has the default quota.
_CHANGES = """
CREATE TABLE tenants (name TEXT PRIMARY KEY, quota TEXT NOT NULL);
CREATE TABLE drains (
    switch TEXT NOT NULL, job INTEGER REFERENCES jobs ON DELETE CASCADE, why TEXT NOT NULL, since REAL NOT NULL
);
"""
_TABLES = (
    """
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, multicast_group INTEGER NOT NULL,
    admission INTEGER NOT NULL, request TEXT NOT NULL, owner TEXT NOT NULL DEFAULT '',
    limited INTEGER NOT NULL DEFAULT 0, first_event INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE incarnations (
    job INTEGER PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
    tag INTEGER NOT NULL, epoch INTEGER NOT NULL, seed TEXT NOT NULL, slots INTEGER NOT NULL,
    servers TEXT NOT NULL, looks_up INTEGER NOT NULL
);
CREATE TABLE tickets (
    job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE, worker INTEGER NOT NULL,
    claimant TEXT NOT NULL, origin TEXT NOT NULL, description TEXT,
    PRIMARY KEY (job, worker)
);
CREATE TABLE ranges (
    switch TEXT NOT NULL, job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
    base INTEGER NOT NULL, slots INTEGER NOT NULL, shared INTEGER NOT NULL,
    PRIMARY KEY (switch, job)
);
INSERT INTO meta VALUES ('next_job', 1), ('next_admission', 1);
"""
    + _EVENTS
    + _CHANGES
)
#: Names of the tables, each after those to which it refers.
TABLES = tuple(re.findall(r"CREATE TABLE (\w+)", _TABLES))
# Statements that turn a file of a version into one of the next version.
_OWNERS = """
ALTER TABLE jobs ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN limited INTEGER NOT NULL DEFAULT 0;
"""
# Events before the first one of a job are of earlier jobs with its name, perhaps of other tenants.
_FIRST_EVENTS = """
ALTER TABLE jobs ADD COLUMN first_event INTEGER NOT NULL DEFAULT 0;
UPDATE jobs SET first_event = coalesce(
    (SELECT max(events.number) FROM events WHERE whom = name
     AND what || char(59) LIKE 'admitted as job ' || jobs.number || char(59) || '%'),
    (SELECT coalesce(max(events.number), 0) + 1 FROM events)
);
"""
_MIGRATIONS = {3: _OWNERS + _EVENTS, 4: _FIRST_EVENTS, 5: _CHANGES}
OLDEST_VERSION = min(_MIGRATIONS)
SET_META = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


def version_of(db: Database) -> int | None:
    """Return the version of the schema; None for an empty database.

    Raises SchemaError for a database of another program, and for a version that has no migration.
    """
    tables = db.tables()
    if not tables:
        return None
    found = db.execute("SELECT value FROM meta WHERE name = 'schema'") if "meta" in tables else []
    if not found or not isinstance(found[0][0], int):
        raise SchemaError(f"{db.name} is no state of a controller.", "Move it away to begin anew.")
    version = found[0][0]
    if OLDEST_VERSION <= version <= SCHEMA_VERSION:
        return version
    supported = f"this controller reads versions {OLDEST_VERSION} to {SCHEMA_VERSION}"
    raise SchemaError(
        f"{db.name} has version {version} of the state; {supported}.",
        "Install the lanesum that wrote it or a later one, or restore a backup of an earlier version."
        if version > SCHEMA_VERSION
        else "Open it with an intermediate version of lanesum first, or move it away to begin anew.",
        found=version,
    )


def prepare(db: Database) -> None:
    """Create the tables of an empty database, and migrate those of an earlier version. All changes commit together.

    Raises SchemaError.
    """
    version = version_of(db)
    if version == SCHEMA_VERSION:
        return
    db.begin()
    try:
        for script in [_TABLES] if version is None else [_MIGRATIONS[one] for one in range(version, SCHEMA_VERSION)]:
            for statement in filter(str.strip, script.split(";")):
                db.define(statement)
        db.execute(SET_META, ("schema", SCHEMA_VERSION))
        db.commit()
    except BaseException:
        db.rollback()
        raise


def verify(db: sqlite3.Connection, path: Path | str) -> None:
    """Check the structure of the file and the references between its tables. Raises StoreError."""
    (verdict,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict == "ok":
        dangling = db.execute("PRAGMA foreign_key_check").fetchone()
        verdict = verdict if dangling is None else f"an entry of {dangling[0]} belongs to no job"
    if verdict != "ok":
        raise StoreError(f"{path} is broken: {verdict}.", "Restore a backup, or move it away to begin anew.")


def verify_types(db: sqlite3.Connection, path: str) -> None:
    """Check the types of all values of a file of the present version: SQLite stores any. Raises StoreError."""
    with contextlib.closing(sqlite3.connect(":memory:")) as wanted:
        wanted.executescript(_TABLES)
        tables = wanted.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        ).fetchall()
        columns = [(table, *column) for (table,) in tables for column in wanted.execute(f"PRAGMA table_info({table})")]
    for table, _, column, declared, not_null, _, is_key in columns:
        allowed = [declared.lower(), *(["integer"] if declared == "REAL" else [])]
        allowed += [] if not_null or is_key else ["null"]
        names = ", ".join(f"'{name}'" for name in allowed)
        found = db.execute(f"SELECT typeof({column}) FROM {table} WHERE typeof({column}) NOT IN ({names})").fetchone()
        if found is not None:
            raise StoreError(
                f"{path} is broken: {column} of {table} has a value of type {found[0]}, not {declared.lower()}.",
                "Restore a backup, or move it away to begin anew.",
            )


def create_private(path: Path) -> None:
    """Create a file that only its owner can read. Raises StoreError if it exists or cannot be created."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise StoreError(f"Cannot create {path}: {error.strerror}.", "Choose another file.") from error


def save_copy(db: sqlite3.Connection, path: Path) -> None:
    """Write a consistent copy to the new file ``path``, while ``db`` may be in use. It is complete or absent.

    Raises StoreError if the file exists or cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    create_private(part)
    try:
        with contextlib.closing(sqlite3.connect(part)) as copy:
            db.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file is the whole copy
            verify(copy, part)
        with part.open("rb") as written:
            os.fsync(written.fileno())
        os.link(part, path)  # unlike a rename, this keeps an existing file
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StoreError(f"Cannot write the copy {path}: {reason}.", "Choose another file.") from error
    finally:
        part.unlink(missing_ok=True)


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
