# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Aggregator with the native extension: it serves jobs without a quorum, Python serves the others; and the choice."""

from __future__ import annotations

import collections
from pathlib import Path
from types import ModuleType

from lanesum._internal.native import availability
from lanesum._internal.udp_socket import Address
from lanesum.server.aggregator import Aggregator, check_same_job
from lanesum.server.jobs import ServerJob
from lanesum.server.served_job import Datagrams
from lanesum.server.slot_table import ServerDecision


class NativeAggregator:
    """Drop-in replacement for ``Aggregator``.

    ``admit``, ``remove`` and ``close`` are for one thread at a time. Other threads may handle packets of jobs without a
    quorum meanwhile, through ``core``.

    Args:
        journal_folder: see ``Aggregator``.

    Attributes:
        core: the native aggregator.
    """

    def __init__(self, native: ModuleType, journal_folder: Path | None = None) -> None:
        self.native = native
        self.core = native.Aggregator()
        self._quorum_jobs = Aggregator(journal_folder)
        self._jobs: dict[int, ServerJob] = {}

    @property
    def journal_folder(self) -> Path | None:
        return self._quorum_jobs.journal_folder

    @property
    def refused(self) -> collections.Counter[str]:
        """See ``Aggregator``; a copy."""
        return self._quorum_jobs.refused + collections.Counter(self.core.refused())

    @property
    def decisions(self) -> collections.Counter[ServerDecision]:
        """See ``Aggregator``; a copy."""
        counted = {ServerDecision(name): count for name, count in self.core.decisions().items()}
        return self._quorum_jobs.decisions + collections.Counter(counted)

    @property
    def jobs(self) -> dict[int, ServerJob]:
        """The jobs served, by number."""
        return dict(self._jobs)

    def admit(self, job: ServerJob) -> None:
        """See ``Aggregator.admit``."""
        served = self._jobs.get(job.job)
        if served is not None and served.tag == job.tag:
            check_same_job(served, job)
            if job.has_quorum:
                self._quorum_jobs.admit(job)
            else:
                self.core.set_on_switches(job.job, job.on_switches)
            self._jobs[job.job] = job
            return
        if job.has_quorum:
            self._quorum_jobs.admit(job)  # first, because it may fail
            self.core.delegate(job.job)
        else:
            self._quorum_jobs.drop(job.job, keep_tag=job.tag)
            self._admit_to_core(job)
        self._jobs.pop(job.job, None)
        self._jobs[job.job] = job

    def _admit_to_core(self, job: ServerJob) -> None:
        members = sorted(job.members.items(), key=lambda member: member[1].worker)
        self.core.admit(
            job=job.job,
            tag=job.tag,
            members=[(*address, index.worker, index.rack, index.bit) for address, index in members],
            slots=job.slots,
            servers=job.servers,
            ops=list(job.ops),
            code_table=job.code_table,
            accumulator_words=job.accumulator_words,
            two_levels=job.two_levels,
            on_switches=job.on_switches,
            joined_packets=job.joined_packets,
        )

    def remove(self, job: int) -> None:
        """See ``Aggregator.remove``."""
        if self._jobs.pop(job, None) is not None:  # the core accepts numbers of 32 bits only
            self.core.remove(job)
        self._quorum_jobs.remove(job)

    def close(self) -> None:
        """See ``Aggregator.close``."""
        for job in self._jobs:
            self.core.remove(job)
        self._jobs.clear()
        self._quorum_jobs.close()

    def handle(self, sender: Address, datagram: bytes, *, congested: bool = False) -> Datagrams:
        """See ``Aggregator.handle``."""
        answers: Datagrams | None = self.core.handle(*sender, datagram, congested)
        return self._quorum_jobs.handle(sender, datagram, congested=congested) if answers is None else answers


AnyAggregator = Aggregator | NativeAggregator


def make_aggregator(journal_folder: Path | None = None, *, python: bool = False) -> AnyAggregator:
    """Return an aggregator; arguments as of ``Aggregator``.

    Args:
        journal_folder: see ``Aggregator``.
        python: use the Python implementation even if the native extension is available.

    Raises ConfigurationError: LANESUM_NATIVE requires the extension, and it is not available.
    """
    core = None if python else availability().core
    return Aggregator(journal_folder) if core is None else NativeAggregator(core, journal_folder)
