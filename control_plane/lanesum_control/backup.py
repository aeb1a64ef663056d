# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Backup and restore of the controller's state file."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from lanesum_control.errors import StoreError
from lanesum_control.events import EventLog
from lanesum_control.jobs import Incarnation
from lanesum_control.sqlite_database import SqliteDatabase
from lanesum_control.state_schema import save_copy, verify, version_of
from lanesum_control.store import Store

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


def back_up(state: Path, out: Path) -> None:
    """Write a consistent copy of ``state`` to the new file ``out``, also while a controller uses it.

    Raises SchemaError, StoreError; then there is no ``out``.
    """
    with _reading(state) as db:
        save_copy(db, out)


def restore(backup: Path, state: Path) -> int:
    """Write the new state file ``state`` from a backup; return the number of its jobs.

    The backup is verified, and migrated if an earlier version wrote it. Every job begins a new incarnation: after the
    backup was made, workers may have used up tickets that are unused in it.

    Raises SchemaError, StoreError; then there is no ``state``.
    """
    there = [path for path in (state.with_name(state.name + suffix) for suffix in _SQLITE_FILES) if path.exists()]
    if there:
        raise StoreError(
            f"Restoring would overwrite {', '.join(map(str, there))}.",
            "Stop the controller, and move these files away together.",
        )
    part = state.with_name(f"{state.name}.restored")
    _remove(part)
    try:
        with _reading(backup) as db:
            save_copy(db, part)
        with Store(part) as store, store.transaction():
            jobs = store.jobs()
            for job in jobs:
                now = job.incarnation
                job.incarnation = Incarnation.of(job.request, now.servers, now.looks_up)
                store.save(job, store.ranges())
            EventLog(store).add("controller", f"state of {len(jobs)} jobs restored from {backup}")
        os.link(part, state)
    except OSError as error:
        raise StoreError(f"Cannot write {state}: {error.strerror}.", "Choose another file.") from error
    finally:
        _remove(part)
    return len(jobs)


def _remove(part: Path) -> None:
    for suffix in (*_SQLITE_FILES, ".lock"):
        part.with_name(part.name + suffix).unlink(missing_ok=True)
