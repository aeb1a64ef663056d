# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Persistent state of the controller: jobs, incarnations, taken tickets, slot ranges, events.

It is one SQLite file, for one controller; ``lanesum_control.state_schema`` has its tables. A change is committed before
it takes effect at a switch or server. A committed change without effect is repaired from here when the controller
restarts. Admissions are committed last: one that was cut short leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lanesum._internal.closing import Closing
from lanesum._internal.udp_socket import Address
from lanesum_control.allocation import SlotRange
from lanesum_control.errors import AdmissionError, StoreError
from lanesum_control.jobs import Incarnation, Job, JobRequest, Taken
from lanesum_control.state_schema import prepare, verify, verify_types, version_of

#: Events that a state file keeps, at most: 40 MB with the longest texts, and usually a tenth of it.
MAX_EVENTS = 20_000
_EVICT_EVERY = 100  # events, because to count them takes some milliseconds
_MAX_JOB = 0xFFFF


class Store(Closing):
    """Opens or creates ``path``; None keeps the state in memory. Thread-safe.

    Only the owner can read the file. Write-ahead logging lets another process copy it meanwhile; ``FILE.lock`` keeps a
    second controller out.

    Raises SchemaError for a file of another version or program; StoreError for a broken file, or one that another
    controller has open.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._mutex = threading.RLock()
        self._lock_file = -1 if path is None else _locked(path)
        try:
            # Transactions begin explicitly.
            with self._typed_errors():
                self._db = sqlite3.connect(":memory:" if path is None else path, isolation_level=None, timeout=2.0,
                                           check_same_thread=False)  # fmt: skip
            try:
                with self._typed_errors():
                    self._open()
            except StoreError:
                self._db.close()
                raise
        except StoreError:
            self._unlock()
            raise

    def _open(self) -> None:
        version_of(self._db, self._path)  # before anything is written
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA foreign_keys = ON")
        self._db.execute("PRAGMA synchronous = FULL")
        verify(self._db, self._path)
        prepare(self._db, self._path)
        verify_types(self._db, self._path)

    @contextlib.contextmanager
    def _typed_errors(self) -> Iterator[None]:
        with self._mutex:
            try:
                yield
            except (sqlite3.OperationalError, sqlite3.ProgrammingError) as error:
                locked = "locked" in str(error)
                next_step = (
                    "Another controller has it open: stop that one." if locked else "Check folder and permissions."
                )
                raise StoreError(f"Cannot use the state file {self._path}: {error}.", next_step) from error
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                raise StoreError(
                    f"The state file {self._path} is broken: {error}.",
                    "Restore a backup, or move it away to begin anew.",
                ) from error

    @contextlib.contextmanager
    def transaction(self, *, synced: bool = True) -> Iterator[None]:
        """Commit all changes of the block together, or none. A block inside another one belongs to it.

        ``synced``: wait for the disk at the end.
        """
        with self._typed_errors():
            if self._db.in_transaction:
                yield
                return
            self._db.execute(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def meta(self, name: str) -> int | None:
        """Return a number by name; None if there is none."""
        with self._typed_errors():
            row = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else int(row[0])

    def set_meta(self, name: str, value: int) -> None:
        """Store a number by name."""
        with self.transaction():
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def jobs(self) -> list[Job]:
        """Return all jobs, oldest first."""
        with self._typed_errors():
            rows = self._db.execute(
                "SELECT number, multicast_group, admission, request, owner, limited, tag, epoch, seed, slots,"
                " servers, looks_up"
                " FROM jobs JOIN incarnations ON job = number ORDER BY admission"
            ).fetchall()
            taken = self._db.execute("SELECT job, worker, claimant, origin, description FROM tickets").fetchall()
        try:
            jobs = {
                number: Job(
                    number,
                    group,
                    order,
                    JobRequest.from_message(json.loads(request)),
                    Incarnation(tag, epoch, int(seed), slots, _addresses(servers), bool(looks_up)),
                    owner,
                    bool(limited),
                )
                for number, group, order, request, owner, limited, tag, epoch, seed, slots, servers, looks_up in rows
            }
            for number, worker, claimant, origin, description in taken:
                if number not in jobs:
                    raise ValueError(f"a ticket is of job {number}, which has no incarnation")
                jobs[number].incarnation.taken[worker] = Taken(claimant, origin, description)
        except (ValueError, TypeError, RecursionError, AdmissionError) as error:
            raise StoreError(f"The state file {self._path} is broken: {error}.", "Restore a backup.") from error
        return list(jobs.values())

    def ranges(self) -> dict[str, dict[int, SlotRange]]:
        """Return switch -> job -> slots."""
        result: dict[str, dict[int, SlotRange]] = {}
        with self._typed_errors():
            for switch, job, base, slots, shared in self._db.execute("SELECT * FROM ranges"):
                result.setdefault(switch, {})[job] = SlotRange(base, slots, bool(shared))
        return result

    def new_numbers(self) -> tuple[int, int]:
        """Return an unused job identifier, and the next number in the order of admission; neither is reused soon."""
        with self.transaction():
            used = {number for (number,) in self._db.execute("SELECT number FROM jobs")}
            if len(used) >= _MAX_JOB:
                raise StoreError(f"All {_MAX_JOB} job identifiers are in use.", "Remove a job.")
            number = self.meta("next_job") or 1
            while number in used:
                number = number % _MAX_JOB + 1
            order = self.meta("next_admission") or 1
            self.set_meta("next_job", number % _MAX_JOB + 1)
            self.set_meta("next_admission", order + 1)
        return number, order

    def save(self, job: Job, ranges: Mapping[str, Mapping[int, SlotRange]]) -> None:
        """Store a job with its request, the tickets of ``job.incarnation``, and all slot ranges.

        The next event is the first one of a new job.
        """
        request, now = job.request, job.incarnation
        with self.transaction():
            self._db.execute(
                "INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?,"
                " (SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'events'))"
                " ON CONFLICT (number) DO UPDATE SET request = excluded.request",
                (
                    job.number,
                    request.name,
                    job.group,
                    job.order,
                    json.dumps(request.to_message()),
                    job.owner,
                    job.limited,
                ),
            )
            self._db.execute(
                "INSERT OR REPLACE INTO incarnations VALUES (?, ?, ?, ?, ?, ?, ?)",
                # A seed has 64 bits, SQLite's integers 63.
                (job.number, now.tag, now.epoch, str(now.seed), now.slots, json.dumps(now.servers), now.looks_up),
            )
            self._db.execute("DELETE FROM tickets WHERE job = ?", (job.number,))
            for worker, taken in now.taken.items():
                self._insert_ticket(job.number, worker, taken)
            self._replace_ranges(ranges)

    def take(self, job: int, worker: int, taken: Taken) -> None:
        """Store the claimant of a ticket."""
        with self.transaction():
            self._insert_ticket(job, worker, taken)

    def _insert_ticket(self, job: int, worker: int, taken: Taken) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO tickets VALUES (?, ?, ?, ?, ?)",
            (job, worker, taken.claimant, taken.origin, taken.description),
        )

    def save_ranges(self, ranges: Mapping[str, Mapping[int, SlotRange]]) -> None:
        """Replace all slot ranges."""
        with self.transaction():
            self._replace_ranges(ranges)

    def _replace_ranges(self, ranges: Mapping[str, Mapping[int, SlotRange]]) -> None:
        rows = [
            (switch, job, one.base, one.count, one.shared)
            for switch, jobs in ranges.items()
            for job, one in jobs.items()
        ]
        self._db.execute("DELETE FROM ranges")
        self._db.executemany("INSERT INTO ranges VALUES (?, ?, ?, ?, ?)", rows)

    def remove(self, job: int, ranges: Mapping[str, Mapping[int, SlotRange]]) -> None:
        """Delete a job and its data, and replace all slot ranges."""
        with self.transaction():
            self._db.execute("DELETE FROM jobs WHERE number = ?", (job,))
            self._replace_ranges(ranges)

    def add_event(self, time: float, whom: str, what: str, actor: str, source: str, party: str) -> int:
        """Store an event, and return its number. Beyond ``MAX_EVENTS`` the oldest of the busiest party are deleted.

        Outside of a transaction it does not wait for the disk: a power failure loses it, unless a change followed.
        """
        with self.transaction(synced=False):
            number = self._db.execute(
                "INSERT INTO events (time, whom, what, actor, source, party) VALUES (?, ?, ?, ?, ?, ?)",
                (time, whom, what, actor, source, party),
            ).lastrowid
            assert number is not None
            if number % _EVICT_EVERY == 0:
                self._evict_events()
        return number

    def _evict_events(self) -> None:
        (count,) = self._db.execute("SELECT count(*) FROM events").fetchone()
        self._db.execute(
            "DELETE FROM events WHERE number IN (SELECT number FROM events"
            " WHERE party = (SELECT party FROM events GROUP BY party ORDER BY count(*) DESC LIMIT 1)"
            " ORDER BY number LIMIT ?)",
            (max(0, count - MAX_EVENTS + _EVICT_EVERY),),
        )

    def events(self, condition: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """Return the rows (number, time, whom, what, actor, source) of ``SELECT ... FROM events`` and ``condition``."""
        with self._typed_errors():
            query = f"SELECT number, time, whom, what, actor, source FROM events {condition}"
            return self._db.execute(query, values).fetchall()

    def close(self) -> None:
        """Close the file; idempotent."""
        with self._mutex:
            self._db.close()
            self._unlock()

    def _unlock(self) -> None:
        if self._lock_file >= 0:
            os.close(self._lock_file)
            self._lock_file = -1


def _locked(path: Path) -> int:
    """Create the file if there is none, make it private, and return the open file that is its lock."""
    lock = -1
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        path.chmod(0o600)
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(lock)
        raise StoreError(
            f"Cannot use the state file {path}: it is locked.", "Another controller has it open: stop that one."
        ) from error
    except OSError as error:
        raise StoreError(
            f"Cannot use the state file {path}: {error.strerror}.", "Check folder and permissions."
        ) from error
    return lock


def _addresses(text: str) -> tuple[Address, ...]:
    return tuple((ip, port) for ip, port in json.loads(text))
