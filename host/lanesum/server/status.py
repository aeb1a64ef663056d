# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""How a server is, as a controller sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lanesum._internal.udp_socket import Address
from lanesum.errors import LanesumError
from lanesum.server.jobs import ServerJob


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """How a server is.

    Attributes:
        instance: another one than before: the server was started anew and knows no jobs.
        address: IPv4 address and UDP port that packets are addressed to.
        durable: quorum decisions outlive the server's process. Otherwise a job with a quorum needs a new tag after it.
        jobs: by number.
        decisions: contributions of members by what was done with them, since the server's start.
        refused: datagrams that changed nothing, by reason.
        broken: datagrams that could not be handled by a bug.
    """

    instance: str
    address: Address
    durable: bool
    jobs: dict[int, ServerJob]
    decisions: dict[str, int]
    refused: dict[str, int]
    broken: int

    def to_message(self) -> dict[str, Any]:
        """As JSON knows it."""
        return {
            "instance": self.instance,
            "address": list(self.address),
            "durable": self.durable,
            "jobs": [job.to_json() for job in self.jobs.values()],
            "decisions": self.decisions,
            "refused": self.refused,
            "broken": self.broken,
        }

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> ServerStatus:
        """Raises ValueError for a message that is no status."""
        try:
            jobs = [ServerJob.from_json(text) for text in message["jobs"]]
            ip, port = message["address"]
            return cls(
                message["instance"],
                (ip, port),
                message["durable"],
                {job.job: job for job in jobs},
                message["decisions"],
                message["refused"],
                message["broken"],
            )
        except (KeyError, TypeError, LanesumError) as error:
            raise ValueError(f"not the status of a server: {error!r}") from error
