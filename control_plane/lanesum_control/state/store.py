# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Persistent state of the controller: jobs, incarnations, taken tickets, slot ranges, events.

``lanesum_control.state.schema`` has its tables. A change is committed before it takes effect at a switch or server. A
committed change without effect is repaired from here when the controller restarts. Admissions are committed last: one
that was cut short leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lanesum._internal.closing import Closing
from lanesum._internal.udp_socket import Address
from lanesum.errors import LanesumError
from lanesum_control.errors import AdmissionError, StoreError
from lanesum_control.jobs.left_out import Drain
from lanesum_control.jobs.records import Incarnation, Job, JobRequest, Taken
from lanesum_control.planner.allocation import SlotRange
from lanesum_control.planner.quotas import TenantQuota
from lanesum_control.state.schema import SET_META, Database, Row
from lanesum_control.state.sqlite_database import SqliteDatabase

#: Events that a store keeps, at most: 40 MB with the longest texts, and usually a tenth of it.
MAX_EVENTS = 20_000
_EVICT_EVERY = 100  # events, because to count them takes some milliseconds
_MAX_JOB = 0xFFFF


class Store(Closing):
    """State in the SQLite file ``state``, in memory if None, or in another database. Thread-safe.

    Raises SchemaError for a database of another version or program; StoreError for one that is broken or away, or that
    another controller has open.
    """

    def __init__(self, state: Path | Database | None = None) -> None:
        self._mutex = threading.RLock()
        self._ranges: Mapping[str, Mapping[int, SlotRange]] | None = None  # in the database; None if unknown
        self._db = SqliteDatabase(state) if state is None or isinstance(state, Path) else state
        try:
            self._db.open()
        except StoreError:
            self._db.close()
            raise

    @property
    def term(self) -> int:
        """Number of this controller's leadership; 0 where no other controller can take over."""
        return self._db.term

    @contextlib.contextmanager
    def transaction(self, *, synced: bool = True) -> Iterator[None]:
        """Commit all changes of the block together, or none. A block inside another one belongs to it.

        ``synced``: wait for the disk at the end.
        """
        with self._mutex:
            if self._db.in_transaction:
                yield
                return
            self._db.begin(synced=synced)
            try:
                yield
                self._db.commit()
            except BaseException:
                self._ranges = None
                self._db.rollback()
                raise

    def _read(self, query: str, *values: object) -> list[Row]:
        with self._mutex:
            return self._db.execute(query, values)

    def meta(self, name: str) -> int | None:
        """Return a number by name; None if there is none."""
        rows = self._read("SELECT value FROM meta WHERE name = ?", name)
        return int(rows[0][0]) if rows else None

    def set_meta(self, name: str, value: int) -> None:
        """Store a number by name."""
        with self.transaction():
            self._db.execute(SET_META, (name, value))

    def jobs(self) -> list[Job]:
        """Return all jobs, oldest first."""
        rows = self._read(
            "SELECT number, multicast_group, admission, request, owner, limited, tag, epoch, seed, slots, servers,"
            " looks_up FROM jobs JOIN incarnations ON job = number ORDER BY admission"
        )
        taken = self._read("SELECT job, worker, claimant, origin, description FROM tickets")
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
                if not 0 <= worker < len(jobs[number].request.workers):
                    raise ValueError(f"a ticket is of worker {worker} of job {number}, which it lacks")
                jobs[number].incarnation.taken[worker] = Taken(claimant, origin, description)
        except (ValueError, TypeError, RecursionError, AdmissionError) as error:
            raise StoreError(f"The state in {self._db.name} is broken: {error}.", "Restore a backup.") from error
        return list(jobs.values())

    def ranges(self) -> dict[str, dict[int, SlotRange]]:
        """Return switch -> job -> slots."""
        result: dict[str, dict[int, SlotRange]] = {}
        for switch, job, base, slots, shared in self._read("SELECT * FROM ranges"):
            result.setdefault(switch, {})[job] = SlotRange(base, slots, bool(shared))
        return result

    def new_numbers(self) -> tuple[int, int]:
        """Return an unused job identifier, and the next number in the order of admission; neither is reused soon."""
        # Numbers that are lost with the machine before ``save`` waits for the disk have not left this process.
        with self.transaction(synced=False):
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
                f"INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, {self._db.next_event})"
                " ON CONFLICT (number) DO UPDATE SET request = excluded.request",
                (
                    job.number,
                    request.name,
                    job.group,
                    job.order,
                    json.dumps(request.to_message()),
                    job.owner,
                    int(job.limited),
                ),
            )
            for table in ("incarnations", "tickets"):
                self._db.execute(f"DELETE FROM {table} WHERE job = ?", (job.number,))
            self._db.execute(
                "INSERT INTO incarnations VALUES (?, ?, ?, ?, ?, ?, ?)",
                # A seed has 64 bits, integers of databases 63.
                (job.number, now.tag, now.epoch, str(now.seed), now.slots, json.dumps(now.servers), int(now.looks_up)),
            )
            self._insert_tickets(job.number, now.taken)
            self._replace_ranges(ranges)

    def take(self, job: int, worker: int, taken: Taken) -> None:
        """Store the claimant of a ticket."""
        with self.transaction():
            self._db.execute("DELETE FROM tickets WHERE job = ? AND worker = ?", (job, worker))
            self._insert_tickets(job, {worker: taken})

    def _insert_tickets(self, job: int, tickets: Mapping[int, Taken]) -> None:
        rows = [(job, worker, one.claimant, one.origin, one.description) for worker, one in tickets.items()]
        self._db.execute_many("INSERT INTO tickets VALUES (?, ?, ?, ?, ?)", rows)

    def save_ranges(self, ranges: Mapping[str, Mapping[int, SlotRange]]) -> None:
        """Replace all slot ranges."""
        with self.transaction():
            self._replace_ranges(ranges)

    def _replace_ranges(self, ranges: Mapping[str, Mapping[int, SlotRange]]) -> None:
        before = self.ranges() if self._ranges is None else self._ranges
        changed = [switch for switch in {**before, **ranges} if before.get(switch, {}) != ranges.get(switch, {})]
        rows = [
            (switch, job, one.base, one.count, int(one.shared))
            for switch in changed
            for job, one in ranges.get(switch, {}).items()
        ]
        self._ranges = None  # until the rows are written
        self._db.execute_many("DELETE FROM ranges WHERE switch = ?", [(switch,) for switch in changed])
        self._db.execute_many("INSERT INTO ranges VALUES (?, ?, ?, ?, ?)", rows)
        self._ranges = ranges

    def tenants(self) -> dict[str, TenantQuota]:
        """Return the quotas of tenants with one of their own. Raises StoreError."""
        try:
            return {
                name: TenantQuota(**json.loads(quota)) for name, quota in self._read("SELECT name, quota FROM tenants")
            }
        except (ValueError, TypeError, LanesumError) as error:
            raise StoreError(f"The state in {self._db.name} is broken: {error}.", "Restore a backup.") from error

    def set_tenant(self, name: str, quota: TenantQuota | None) -> None:
        """Store the quota of a tenant; None for the default one."""
        with self.transaction():
            self._db.execute("DELETE FROM tenants WHERE name = ?", (name,))
            if quota is not None:
                text = json.dumps(dataclasses.asdict(quota))
                self._db.execute("INSERT INTO tenants VALUES (?, ?)", (name, text))

    def drains(self) -> list[Drain]:
        """Return the drains of all switches, oldest first."""
        return [Drain(*row) for row in self._read("SELECT switch, job, why, since FROM drains ORDER BY since")]

    def drain(self, drain: Drain) -> None:
        """Store a drain in place of an earlier one of the same switch and job."""
        with self.transaction():
            self.undrain(drain.switch, drain.job)
            values = (drain.switch, drain.job, drain.why, drain.since)
            self._db.execute("INSERT INTO drains VALUES (?, ?, ?, ?)", values)

    def undrain(self, switch: str, job: int | None) -> None:
        """Delete the drain of a switch for a job, or the one for all jobs."""
        where, values = ("job IS NULL", (switch,)) if job is None else ("job = ?", (switch, job))
        with self.transaction():
            self._db.execute(f"DELETE FROM drains WHERE switch = ? AND {where}", values)

    def remove(self, job: int, ranges: Mapping[str, Mapping[int, SlotRange]]) -> None:
        """Delete a job and its data, and replace all slot ranges."""
        with self.transaction():
            self._db.execute("DELETE FROM jobs WHERE number = ?", (job,))
            self._db.execute("DELETE FROM meta WHERE name = ?", (members_of(job),))
            self._replace_ranges(ranges)

    def add_event(self, time: float, whom: str, what: str, actor: str, source: str, party: str) -> int:
        """Store an event, and return its number. Beyond ``MAX_EVENTS`` the oldest of the busiest party are deleted.

        Outside of a transaction it does not wait for the disk: a power failure loses it, unless a change followed.
        """
        with self.transaction(synced=False):
            ((number,),) = self._db.execute(
                "INSERT INTO events (time, whom, what, actor, source, party) VALUES (?, ?, ?, ?, ?, ?)"
                " RETURNING number",
                (time, whom, what, actor, source, party),
            )
            if number % _EVICT_EVERY == 0:
                self._evict_events()
        return int(number)

    def _evict_events(self) -> None:
        ((count,),) = self._db.execute("SELECT count(*) FROM events")
        self._db.execute(
            "DELETE FROM events WHERE number IN (SELECT number FROM events"
            " WHERE party = (SELECT party FROM events GROUP BY party ORDER BY count(*) DESC LIMIT 1)"
            " ORDER BY number LIMIT ?)",
            (max(0, count - MAX_EVENTS + _EVICT_EVERY),),
        )

    def events(self, condition: str, values: Sequence[object]) -> list[Row]:
        """Return the rows (number, time, whom, what, actor, source) of ``SELECT ... FROM events`` and ``condition``."""
        return self._read(f"SELECT number, time, whom, what, actor, source FROM events {condition}", *values)

    def close(self) -> None:
        """Disconnect from the database; idempotent."""
        with self._mutex:
            self._db.close()


def members_of(job: int) -> str:
    """Return the name of the number that stands for the members of a job, see ``Store.meta``."""
    return f"members of job {job}"


def _addresses(text: str) -> tuple[Address, ...]:
    return tuple((ip, port) for ip, port in json.loads(text))
