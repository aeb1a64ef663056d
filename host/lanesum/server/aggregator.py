# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Protocol logic of the server without sockets: one datagram in, answers out."""

from __future__ import annotations

import collections
import dataclasses
from pathlib import Path

from lanesum._internal.udp_socket import Address
from lanesum.errors import ConfigurationError
from lanesum.protocol.packet import Header, Packet, PacketError
from lanesum.protocol.spec import HEADER_BYTES, VERSION, Kind
from lanesum.server.jobs import ServerJob
from lanesum.server.journal import check_folder, remove_journals
from lanesum.server.served_job import Datagrams, Refusal, RefusedDatagramError, ServedJob
from lanesum.server.slot_table import ServerDecision

__all__ = ["Aggregator", "Refusal", "check_same_job"]


class Aggregator:
    """Serves jobs. It completes every chunk that no switch completed.

    Args:
        journal_folder: folder for the results of jobs with a quorum, so that they survive this process; None keeps
            them in memory only. Raises ConfigurationError if no file can be written there.

    Attributes:
        refused: datagrams that changed nothing, by reason (values of ``Refusal``).
        decisions: contributions of members, by decision.
    """

    def __init__(self, journal_folder: Path | None = None) -> None:
        if journal_folder is not None:
            check_folder(journal_folder)
        self.journal_folder = journal_folder
        self.refused: collections.Counter[str] = collections.Counter()
        self.decisions: collections.Counter[ServerDecision] = collections.Counter()
        self._served: dict[int, ServedJob] = {}

    @property
    def jobs(self) -> dict[int, ServerJob]:
        """The jobs served, by number."""
        return {number: served.job for number, served in self._served.items()}

    def admit(self, job: ServerJob) -> None:
        """Serve ``job``; drop another incarnation with the same number, and remove its journal.

        Admitting a served job again keeps its state; only ``on_switches``, ``kept_results`` and ``joined_packets`` may
        differ. The last one has an effect only in a new incarnation.

        Raises ConfigurationError: something else differs under the same tag, or the journal cannot be used.
        """
        served = self._served.get(job.job)
        if served is not None and served.job.tag == job.tag:
            check_same_job(served.job, job)
            served.job = job
            return
        admitted = ServedJob(job, self.journal_folder)
        self.drop(job.job, keep_tag=job.tag)
        self._served[job.job] = admitted

    def remove(self, job: int) -> None:
        """Drop a job and remove its journal; an unknown number has no effect."""
        self.drop(job, keep_tag=None)

    def drop(self, job: int, *, keep_tag: int | None) -> None:
        """Drop a job and remove its journals, except the one of the incarnation with ``keep_tag``."""
        self._close(job)
        if self.journal_folder is not None:
            remove_journals(self.journal_folder, job, keep_tag=keep_tag)

    def _close(self, job: int) -> None:
        served = self._served.pop(job, None)
        if served is not None:
            served.close()

    def close(self) -> None:
        """Drop all jobs and keep their journals, with which a later process continues."""
        for job in list(self._served):
            self._close(job)

    def handle(self, sender: Address, datagram: bytes, *, congested: bool = False) -> Datagrams:
        """Return the answers to one datagram.

        Every datagram that is not empty counts, in ``decisions`` or in ``refused`` (INV-4); none raises an error.

        Args:
            congested: its IPv4 header had the mark Congestion Experienced.
        """
        if not datagram:  # a worker tests its socket by it
            return []
        try:
            packet = Packet.unpack(datagram)
        except PacketError:
            return self._refuse(_unreadable(datagram))
        if packet.header.kind != Kind.CONTRIBUTION:
            return self._refuse(Refusal.KIND)
        served = self._served.get(packet.header.job)
        if served is None:
            return self._refuse(Refusal.MEMBER)
        try:
            decision, answers = served.contribute(sender, packet, congested)
        except RefusedDatagramError as error:
            return self._refuse(error.refusal)
        self.decisions[decision] += 1
        return answers

    def _refuse(self, refusal: Refusal) -> Datagrams:
        self.refused[refusal.value] += 1
        return []


def check_same_job(served: ServerJob, job: ServerJob) -> None:
    """Raise ConfigurationError if ``job`` differs from ``served`` in more than may change under one tag."""
    same = {name: getattr(served, name) for name in ("on_switches", "kept_results", "joined_packets", "servers")}
    if dataclasses.replace(job, **same) != served:
        raise ConfigurationError(
            f"The server has job {job.job} under its tag already, and it is not the same job.",
            "A job that changes gets a new tag.",
        )


def _unreadable(datagram: bytes) -> Refusal:
    if len(datagram) >= HEADER_BYTES and Header.unpack(datagram).version != VERSION:
        return Refusal.VERSION
    return Refusal.MALFORMED
