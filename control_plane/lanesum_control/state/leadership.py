# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Election of the controller that leads, among those with the same PostgreSQL database.

The leader holds a lease in a table with one row. The database's clock alone counts, and each leader gets a higher term,
which is its election id at switches. A standby takes over when the lease or the leader's connection has ended.
Transactions of the state check the term, so an earlier leader that continues after a pause changes nothing.

A leader that cannot renew its lease in time stops leading by its own clock, before another controller can take over. It
leads again with the same term if its next renewal succeeds.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator

from lanesum._internal.closing import Closing
from lanesum_control.errors import NotLeaderError, StoreError
from lanesum_control.state.postgresql import LEADER, PostgresqlDatabase, PostgresqlUrl
from lanesum_control.state.schema import version_of

DEFAULT_LEASE_S = 3.0
POLL_S = 0.25
logger = logging.getLogger(__name__)

_LOCK = 0x6C616E65  # key of the advisory lock under which the table is created
_CREATE = (
    f"SELECT pg_advisory_xact_lock({_LOCK})",
    f"CREATE TABLE IF NOT EXISTS {LEADER} (term BIGINT NOT NULL, holder TEXT NOT NULL, session INTEGER NOT NULL,"
    " until TIMESTAMPTZ NOT NULL)",
    f"INSERT INTO {LEADER} SELECT 0, '', 0, '-infinity' WHERE NOT EXISTS (SELECT FROM {LEADER})",
)
_UNTIL = "until = clock_timestamp() + make_interval(secs => ?)"
_TAKE = (
    f"UPDATE {LEADER} SET term = ?, holder = ?, session = pg_backend_pid(), {_UNTIL} WHERE term < ?"
    " AND (until < clock_timestamp() OR NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = session)) RETURNING term"
)
_RENEW = f"UPDATE {LEADER} SET session = pg_backend_pid(), {_UNTIL} WHERE term = ? RETURNING term"
_RELEASE = f"UPDATE {LEADER} SET holder = '', session = 0, until = '-infinity' WHERE term = ?"


class Leadership(Closing):
    """Candidate for the leadership, and its holder from ``wait`` to the end of it.

    Args:
        holder: this controller, for messages of the others.
        lease_s: time after the last renewal at which another controller takes over.

    Attributes:
        term: term of this controller; 0 until it leads.
        leader: the controller that leads, as far as is known; empty for none.

    Raises SchemaError and StoreError if the database cannot be used now.
    """

    def __init__(
        self, url: PostgresqlUrl, holder: str, *, least_term: int = 1, lease_s: float = DEFAULT_LEASE_S
    ) -> None:
        self.term, self.leader = 0, ""
        self._holder, self._least_term, self._lease_s = holder, least_term, lease_s
        self._problem = ""
        self._renewed_at = -math.inf  # monotonic time before the last renewal, so that the database's lease ends later
        self._end, self._why = threading.Event(), ""
        self._mutex = threading.Lock()
        self._database = PostgresqlDatabase(url)
        try:
            version_of(self._database)  # before anything is written
            self._database.begin()
            for statement in _CREATE:
                self._database.execute(statement)
            self._database.commit()
        except BaseException:
            self._database.close()
            raise
        self._thread = threading.Thread(target=self._renew, name="lanesum-leadership", daemon=True)

    def wait(self) -> int:
        """Wait until this controller leads; return its term. It renews its lease from then on."""
        while not self.take():
            time.sleep(POLL_S)
        self._thread.start()
        return self.term

    def take(self) -> bool:
        """Take over if no other controller leads; return True if this one leads."""
        with self._reported():
            asked_at = time.monotonic()
            ((term, self.leader),) = self._database.execute(f"SELECT term, holder FROM {LEADER}")
            # A replica that takes the place of the database may be behind: no term is used twice.
            self._least_term = max(self._least_term, term + 1)
            # After an outage of the database the leader has the time to connect first.
            if self.leader and time.monotonic() - self._database.reconnected_at < self._lease_s:
                return False
            values = (self._least_term, self._holder, self._lease_s, self._least_term)
            taken = self._database.execute(_TAKE, values)
            if taken:
                self.term, self.leader, self._renewed_at = taken[0][0], self._holder, asked_at
        return self.term > 0

    def renew(self) -> bool:
        """Renew the lease; return False if another controller leads."""
        with self._reported():
            asked_at = time.monotonic()
            if self._database.execute(_RENEW, (self._lease_s, self.term)):
                self._renewed_at = asked_at
            else:
                self.lost(f"another controller leads than that of term {self.term}")
        return not self._end.is_set()

    @property
    def leads(self) -> bool:
        """True while the lease of this controller lasts, by the clock of this process."""
        lasts = time.monotonic() < self._renewed_at + self._lease_s
        return self.term > 0 and lasts and not self._end.is_set()

    def refusal(self) -> str:
        """Return the reason why this controller answers no calls; empty if it leads."""
        if self.leads:
            return ""
        problem = f" {self._problem}" if self._problem else ""
        if not self.term:
            when = "led when it last saw the state" if problem else "leads"
            who = f"the controller {self.leader} {when}" if self.leader else "no controller leads now"
            return f"It is a standby; {who}.{problem}"
        why = self._why or f"it has not renewed its lease for {self._lease_s:g} s"
        return f"It does not lead any more: {why}.{problem} Try the other controllers."

    def _renew(self) -> None:
        while not self._end.wait(self._lease_s / 3):
            with self._mutex:
                if not self._end.is_set():
                    self.renew()

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        """Log a database that is away, and its return, once."""
        try:
            yield
            problem = ""
        except StoreError as error:
            problem = str(error)
        if bool(problem) != bool(self._problem):
            logger.error("%s", problem or f"The state in {self._database.name} can be used again.")
        self._problem = problem

    def lost(self, why: str) -> None:
        """End the leadership: nothing of this process is stored any more. From any thread."""
        self._why = self._why or why
        self._end.set()

    def wait_until_lost(self, changed: Callable[[bool], None] = lambda _leads: None) -> None:
        """Wait for the end of the leadership. Raises NotLeaderError then.

        ``changed``: called with False when this controller stops leading, and with True when it leads again.
        """
        led = True
        while not self._end.wait(POLL_S):
            if self.leads is not led:
                led = not led
                logger.error("%s", "This controller leads again." if led else self.refusal())
                changed(led)
        changed(False)
        raise NotLeaderError(
            f"This controller does not lead any more: {self._why}.", "Start it again; it is a standby then."
        )

    def close(self) -> None:
        """Let another controller take over; idempotent."""
        self._end.set()
        with self._mutex, contextlib.suppress(StoreError):
            if self.term:
                self._database.execute(_RELEASE, (self.term,))
            self._database.close()
