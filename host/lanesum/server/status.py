# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Status of a server, as its control service reports it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from lanesum._internal.udp_socket import Address
from lanesum.protocol.spec import VERSION
from lanesum.server.jobs import ServerJob


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """Identity, jobs and counters of a server.

    Attributes:
        instance: random text. A new one means that the server was restarted and has no jobs.
        address: IPv4 address and UDP port that packets are addressed to.
        durable: results of jobs with a quorum survive the server's process. Otherwise such a job needs a new tag after
            a restart.
        jobs: the jobs, by number.
        decisions: contributions of members since the server's start, by decision.
        refused: datagrams that changed nothing, by reason.
        broken: datagrams that could not be handled because of a bug.
    """

    instance: str
    address: Address
    durable: bool
    jobs: dict[int, ServerJob]
    decisions: dict[str, int]
    refused: dict[str, int]
    broken: int

    def to_message(self) -> dict[str, Any]:
        """Return the status as a JSON object."""
        message = {field.name: getattr(self, field.name) for field in fields(self)}
        message["jobs"] = [job.to_json() for job in self.jobs.values()]
        return {**message, "protocol": VERSION}
