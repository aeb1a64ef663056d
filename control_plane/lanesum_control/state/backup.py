# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Backup and restore of the controller's state. A backup is an SQLite file, also that of a database in PostgreSQL."""

from __future__ import annotations

import contextlib
import dataclasses
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from lanesum_control.errors import StoreError
from lanesum_control.jobs.records import Incarnation
from lanesum_control.state.events import EventLog
from lanesum_control.state.leadership import Leadership
from lanesum_control.state.postgresql import PostgresqlDatabase, PostgresqlUrl
from lanesum_control.state.schema import SCHEMA_VERSION, TABLES, Database, save_copy, verify, version_of
from lanesum_control.state.sqlite_database import SqliteDatabase
from lanesum_control.state.store import Store

_SQLITE_FILES = ("", "-wal", "-shm", "-journal")


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a state file that a controller may have open, and verify it. Raises SchemaError, StoreError."""
    if not path.is_file():
        raise StoreError(f"There is no state file {path}.", "Name the file of lanesum controller --state.")
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=10.0)) as db:
            if version_of(SqliteDatabase.of(db, path)) is None:
                raise StoreError(f"{path} is empty.", "Name the file of lanesum controller --state.")
            verify(db, path)
            yield db
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise StoreError(f"Cannot read the state file {path}: {error}.", "Name another file.") from error


@contextlib.contextmanager
def _migrated(backup: Path) -> Iterator[sqlite3.Connection]:
    """Copy a backup to memory, verify it, and migrate the copy. Raises SchemaError, StoreError."""
    with (
        _reading(backup) as db,
        contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection,
    ):
        db.backup(connection)
        SqliteDatabase.of(connection, backup).open()
        yield connection


def back_up(state: Path | PostgresqlUrl, out: Path) -> None:
    """Write a consistent copy of ``state`` to the new file ``out``, also while a controller uses it.

    Raises SchemaError, StoreError; then there is no ``out``.
    """
    if isinstance(state, Path):
        with _reading(state) as db:
            save_copy(db, out)
        return
    with (
        contextlib.closing(PostgresqlDatabase(state)) as shared,
        contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection,
    ):
        if version_of(shared) != SCHEMA_VERSION:
            raise StoreError(f"{shared.name} has no state of this version.", "Start a controller with it first.")
        copy = SqliteDatabase.of(connection, out)
        copy.open()
        shared.begin()
        shared.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        _copy_rows(shared, copy)
        shared.rollback()
        save_copy(connection, out)


def _copy_rows(source: Database, target: Database) -> None:
    """Replace all rows of ``target`` by those of ``source``, which has the same schema."""
    for table in TABLES:
        target.execute(f"DELETE FROM {table}")
    for table in TABLES:
        rows = source.execute(f"SELECT * FROM {table}")
        if rows:
            target.execute_many(f"INSERT INTO {table} VALUES ({', '.join('?' for _ in rows[0])})", rows)


def restore(backup: Path, state: Path | PostgresqlUrl) -> int:
    """Write the new state ``state`` from a backup; return the number of its jobs.

    The backup is verified, and migrated if an earlier version wrote it. Every job begins a new incarnation: after the
    backup was made, workers may have used up tickets that are unused in it.

    Raises SchemaError, StoreError; then there is no state file, or no row in the database.
    """
    return _restore_file(backup, state) if isinstance(state, Path) else _restore_database(backup, state)


def _restore_database(backup: Path, url: PostgresqlUrl) -> int:
    with (
        contextlib.closing(Leadership(url, "lanesum controller restore")) as leadership,
        contextlib.ExitStack() as stack,
    ):
        if not leadership.take():
            raise StoreError(f"The controller {leadership.leader} uses {url.name}.", "Stop it and its standbys.")
        database = PostgresqlDatabase(url, leadership.term, leadership.lost)
        store = stack.enter_context(Store(database))
        if database.execute("SELECT FROM jobs UNION ALL SELECT FROM events LIMIT 1"):
            raise StoreError(f"Restoring would overwrite the state in {url.name}.", "Name an empty database.")
        connection = stack.enter_context(_migrated(backup))
        with store.transaction():
            _copy_rows(SqliteDatabase.of(connection, backup), database)
            database.skip_events()
            return _begin_again(store, backup)


def _begin_again(store: Store, backup: Path) -> int:
    """Begin new incarnations of all jobs; return their number."""
    jobs = store.jobs()
    for job in jobs:
        incarnation = Incarnation.of(job.request, job.incarnation.servers, job.incarnation.looks_up)
        store.save(dataclasses.replace(job, incarnation=incarnation), store.ranges())
    EventLog(store).add("controller", f"state of {len(jobs)} jobs restored from {backup}")
    return len(jobs)


def _restore_file(backup: Path, state: Path) -> int:
    there = [path for path in (state.with_name(state.name + suffix) for suffix in _SQLITE_FILES) if path.exists()]
    if there:
        raise StoreError(
            f"Restoring would overwrite {', '.join(map(str, there))}.",
            "Stop the controller, and move these files away together.",
        )
    with _migrated(backup) as connection, Store(SqliteDatabase.of(connection, backup)) as store:
        with store.transaction():
            count = _begin_again(store, backup)
        save_copy(connection, state)
    return count
