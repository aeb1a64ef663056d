# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The server's logic without sockets: datagrams in, datagrams out. The authority for whatever no switch completed."""

from __future__ import annotations

import collections
import dataclasses
from pathlib import Path

from lanesum._internal.udp_socket import Address
from lanesum.errors import ConfigurationError
from lanesum.protocol.packet import Header, Packet, PacketError
from lanesum.protocol.spec import HEADER_BYTES, VERSION, Kind
from lanesum.server.jobs import Place, ServerJob
from lanesum.server.journal import remove_journals
from lanesum.server.ledger import Decision
from lanesum.server.served import Datagrams, Refusal, RefusedError, ServedJob

__all__ = ["Aggregator", "Decision", "Place", "Refusal", "ServerJob"]


class Aggregator:
    """Jobs, and what is being summed for them.

    Args:
        journal_folder: where decisions of jobs with a quorum outlive this process; None keeps them in memory only.

    Attributes:
        refused: datagrams that changed nothing, by reason (values of ``Refusal``).
        decisions: contributions of members by what was done with them.
    """

    def __init__(self, journal_folder: Path | None = None) -> None:
        self.journal_folder = journal_folder
        self.refused: collections.Counter[str] = collections.Counter()
        self.decisions: collections.Counter[Decision] = collections.Counter()
        self._served: dict[int, ServedJob] = {}

    @property
    def jobs(self) -> dict[int, ServerJob]:
        """The jobs served, by number."""
        return {number: served.job for number, served in self._served.items()}

    def admit(self, job: ServerJob) -> None:
        """Serve ``job``; another incarnation with the same number is forgotten, and its journal removed.

        Admitting what is served already keeps everything; ``on_switches`` and ``history`` may differ then. Raises
        ConfigurationError when anything else does under the same tag, or when the journal cannot be used.
        """
        served = self._served.get(job.job)
        if served is not None and served.job.tag == job.tag:
            check_same_job(served.job, job)
            served.job = job
            return
        admitted = ServedJob(job, self.journal_folder)
        self.forget(job.job, keep_tag=job.tag)
        self._served[job.job] = admitted

    def remove(self, job: int) -> None:
        """Forget a job, and remove its journal; unknown ones are none of our business."""
        self.forget(job, keep_tag=None)

    def forget(self, job: int, *, keep_tag: int | None) -> None:
        """Like ``remove``, but leaves the journal of the incarnation with ``keep_tag``."""
        self._close(job)
        if self.journal_folder is not None:
            remove_journals(self.journal_folder, job, keep_tag=keep_tag)

    def _close(self, job: int) -> None:
        served = self._served.pop(job, None)
        if served is not None:
            served.close()

    def close(self) -> None:
        """Forget all jobs, but leave their journals: a later process goes on with them."""
        for job in list(self._served):
            self._close(job)

    def handle(self, sender: Address, datagram: bytes, *, congested: bool = False) -> Datagrams:
        """Answers to one datagram; never raises. Anything that is no valid contribution is counted in ``refused``.

        ``congested``: the datagram's IPv4 header was marked so (ECN).
        """
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
        except RefusedError as error:
            return self._refuse(error.refusal)
        self.decisions[decision] += 1
        return answers

    def _refuse(self, refusal: Refusal) -> Datagrams:
        self.refused[refusal.value] += 1
        return []


def check_same_job(served: ServerJob, job: ServerJob) -> None:
    """Raises ConfigurationError where ``job`` under the tag of ``served`` differs in more than may change."""
    if dataclasses.replace(job, on_switches=served.on_switches, history=served.history) != served:
        raise ConfigurationError(
            f"The server has job {job.job} under tag {job.tag:08x} already, and it is not the same job.",
            "A job that changes gets a new tag.",
        )


def _unreadable(datagram: bytes) -> Refusal:
    if len(datagram) >= HEADER_BYTES and Header.unpack(datagram).version != VERSION:
        return Refusal.VERSION
    return Refusal.MALFORMED
