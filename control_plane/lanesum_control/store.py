# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Persistent state of the controller: jobs, incarnations, taken tickets, slot ranges. One SQLite file, one controller.

A change is committed before it takes effect at a switch or server. A committed change without effect is repaired from
here when the controller restarts.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path

from lanesum._internal.closing import Closing
from lanesum._internal.private_files import make_private
from lanesum._internal.udp_socket import Address
from lanesum_control.allocation import SlotRange
from lanesum_control.errors import AdmissionError, StoreError
from lanesum_control.jobs import Incarnation, Job, JobRequest, Taken

SCHEMA_VERSION = 4
_MAX_JOB = 0xFFFF
_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, multicast_group INTEGER NOT NULL,
    admission INTEGER NOT NULL, request TEXT NOT NULL, owner TEXT NOT NULL
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


class Store(Closing):
    """Opens or creates ``path``; None keeps the state in memory.

    Raises StoreError for a file of another version, a broken or foreign file, or one that another controller has open.
    Not thread-safe: the controller's lock protects every call.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        # Tags and hashes of tokens are for the controller alone.
        if path is not None:
            try:
                make_private(path)
            except OSError as error:
                raise StoreError(
                    f"Cannot use the state file {path}: {error.strerror}.", "Check folder and permissions."
                ) from error
        # Transactions begin explicitly; the connection holds the lock of the file for its whole life.
        with self._typed_errors():
            self._db = sqlite3.connect(":memory:" if path is None else path, isolation_level=None, timeout=0.2,
                                       check_same_thread=False)  # fmt: skip
        try:
            with self._typed_errors():
                self._open()
        except StoreError:
            self._db.close()
            raise

    def _open(self) -> None:
        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._db.execute("PRAGMA foreign_keys = ON")
        self._db.execute("PRAGMA synchronous = FULL")
        with self._transaction():
            tables = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not tables:
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    self._db.execute(statement)
                self._db.execute("INSERT INTO meta VALUES ('schema', ?)", (SCHEMA_VERSION,))
        found = self._meta("schema") if "meta" in tables or not tables else None
        if found != SCHEMA_VERSION:
            what = "is no state file of a controller" if found is None else f"has version {found} of the state"
            raise StoreError(
                f"{self._path} {what}; this controller reads version {SCHEMA_VERSION}.",
                "Move it away to begin anew, or use the controller that wrote it.",
            )
        (verdict,) = self._db.execute("PRAGMA quick_check").fetchone()
        if verdict != "ok":
            raise StoreError(f"{self._path} is broken: {verdict}.", "Move it away to begin anew, or restore a copy.")

    @contextlib.contextmanager
    def _typed_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            locked = "locked" in str(error)
            next_step = "Another controller has it open: stop that one." if locked else "Check folder and permissions."
            raise StoreError(f"Cannot use the state file {self._path}: {error}.", next_step) from error
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"The state file {self._path} is broken: {error}.", "Move it away to begin anew, or restore a copy."
            ) from error

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Commit all changes together, or none."""
        with self._typed_errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _meta(self, name: str) -> int | None:
        row = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else int(row[0])

    def jobs(self) -> list[Job]:
        """Return all jobs, oldest first."""
        with self._typed_errors():
            rows = self._db.execute(
                "SELECT number, multicast_group, admission, request, owner, tag, epoch, seed, slots, servers, looks_up"
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
                )
                for number, group, order, request, owner, tag, epoch, seed, slots, servers, looks_up in rows
            }
        except (ValueError, TypeError, AdmissionError) as error:
            raise StoreError(f"The state file {self._path} is broken: {error}.", "Restore a copy.") from error
        for number, worker, claimant, origin, description in taken:
            jobs[number].incarnation.taken[worker] = Taken(claimant, origin, description)
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
        with self._transaction():
            used = {number for (number,) in self._db.execute("SELECT number FROM jobs")}
            if len(used) >= _MAX_JOB:
                raise StoreError(f"All {_MAX_JOB} job identifiers are in use.", "Remove a job.")
            number = self._meta("next_job") or 1
            while number in used:
                number = number % _MAX_JOB + 1
            order = self._meta("next_admission") or 1
            self._db.execute("UPDATE meta SET value = ? WHERE name = 'next_job'", (number % _MAX_JOB + 1,))
            self._db.execute("UPDATE meta SET value = ? WHERE name = 'next_admission'", (order + 1,))
        return number, order

    def save(self, job: Job, ranges: Mapping[str, Mapping[int, SlotRange]]) -> None:
        """Store a job with its request, the tickets of ``job.incarnation``, and all slot ranges."""
        request, now = job.request, job.incarnation
        with self._transaction():
            self._db.execute(
                "INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (number) DO UPDATE SET request = excluded.request",
                (job.number, request.name, job.group, job.order, json.dumps(request.to_message()), job.owner),
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
        with self._transaction():
            self._insert_ticket(job, worker, taken)

    def _insert_ticket(self, job: int, worker: int, taken: Taken) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO tickets VALUES (?, ?, ?, ?, ?)",
            (job, worker, taken.claimant, taken.origin, taken.description),
        )

    def save_ranges(self, ranges: Mapping[str, Mapping[int, SlotRange]]) -> None:
        """Replace all slot ranges."""
        with self._transaction():
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
        with self._transaction():
            self._db.execute("DELETE FROM jobs WHERE number = ?", (job,))
            self._replace_ranges(ranges)

    def close(self) -> None:
        self._db.close()


def _addresses(text: str) -> tuple[Address, ...]:
    return tuple((ip, port) for ip, port in json.loads(text))
