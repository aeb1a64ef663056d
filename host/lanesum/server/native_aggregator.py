# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The server's logic with its compiled part: jobs that decide nothing are served there, those with a quorum here."""

from __future__ import annotations

import collections
from pathlib import Path
from types import ModuleType

from lanesum._internal.udp_socket import Address
from lanesum.server.aggregator import Aggregator, check_same_job
from lanesum.server.jobs import ServerJob
from lanesum.server.ledger import Decision
from lanesum.server.served import Datagrams


class NativeAggregator:
    """Looks and behaves like ``Aggregator``; see there.

    ``admit``, ``remove`` and ``close`` are for one thread at a time; packets of jobs without a quorum may be handled by
    other threads meanwhile, by way of ``core``.

    Args:
        native: the compiled module.
        journal_folder: see ``Aggregator``.

    Attributes:
        native: as given.
        core: the compiled aggregator.
    """

    def __init__(self, native: ModuleType, journal_folder: Path | None = None) -> None:
        self.native = native
        self.core = native.Aggregator()
        self._deciding = Aggregator(journal_folder)
        self._jobs: dict[int, ServerJob] = {}

    @property
    def journal_folder(self) -> Path | None:
        return self._deciding.journal_folder

    @property
    def refused(self) -> collections.Counter[str]:
        """See ``Aggregator``; a copy."""
        return self._deciding.refused + collections.Counter(self.core.refused())

    @property
    def decisions(self) -> collections.Counter[Decision]:
        """See ``Aggregator``; a copy."""
        counted = {Decision(name): count for name, count in self.core.decisions().items()}
        return self._deciding.decisions + collections.Counter(counted)

    @property
    def jobs(self) -> dict[int, ServerJob]:
        """The jobs served, by number."""
        return dict(self._jobs)

    def admit(self, job: ServerJob) -> None:
        """See ``Aggregator.admit``."""
        served = self._jobs.get(job.job)
        if served is not None and served.tag == job.tag:
            check_same_job(served, job)
            if job.decides:
                self._deciding.admit(job)
            else:
                self.core.set_on_switches(job.job, job.on_switches)
            self._jobs[job.job] = job
            return
        if job.decides:
            self._deciding.admit(job)  # first, because it may fail
            self.core.leave_to_others(job.job)
        else:
            self._deciding.forget(job.job, keep_tag=job.tag)
            self._admit_to_core(job)
        self._jobs.pop(job.job, None)
        self._jobs[job.job] = job

    def _admit_to_core(self, job: ServerJob) -> None:
        members = sorted(job.members.items(), key=lambda member: member[1].worker)
        self.core.admit(
            job=job.job,
            tag=job.tag,
            members=[(*address, place.worker, place.rack, place.bit) for address, place in members],
            slots=job.slots,
            ops=list(job.ops),
            code_table=job.code_table,
            accumulator_words=job.accumulator_words,
            two_levels=job.two_levels,
            on_switches=job.on_switches,
        )

    def remove(self, job: int) -> None:
        """See ``Aggregator.remove``."""
        if self._jobs.pop(job, None) is not None:  # others need not be numbers that the core can read
            self.core.remove(job)
        self._deciding.remove(job)

    def close(self) -> None:
        """See ``Aggregator.close``."""
        for job in self._jobs:
            self.core.remove(job)
        self._jobs.clear()
        self._deciding.close()

    def handle(self, sender: Address, datagram: bytes, *, congested: bool = False) -> Datagrams:
        """See ``Aggregator.handle``."""
        answers: Datagrams | None = self.core.handle(*sender, datagram, congested)
        return self._deciding.handle(sender, datagram, congested=congested) if answers is None else answers
