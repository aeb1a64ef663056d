# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A network without a programmable switch: the aggregation server takes a switch's place under the same controller."""

from __future__ import annotations

from lanesum.aggregation.slots import Decision
from lanesum.errors import ConfigurationError
from lanesum.protocol.frames import ipv4_text
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, MAX_SLOTS
from lanesum.server import AggregationServer, Place, ServerJob
from lanesum.server.aggregator import Refusal
from lanesum_control.model import HostPort, SwitchJob


class ServerOnly:
    """Satisfies ``ControlledSwitch`` with a server of this process.

    Args:
        server: sums every job whole; packets are addressed to it and nothing on the path takes them.
        accumulator_words: words of a result packet.
    """

    def __init__(self, server: AggregationServer, accumulator_words: int = DEFAULT_ACCUMULATOR_WORDS) -> None:
        self._server = server
        self._accumulator_words = accumulator_words

    @property
    def slots(self) -> int:
        """The server makes entries as they are used: only the header's field bounds them."""
        return MAX_SLOTS

    def add_host(self, host: HostPort) -> None:
        """Nothing to do: hosts reach the server by the network's own routes."""

    def admit(self, job: SwitchJob) -> None:
        """Serve the job's members."""
        members = {
            (ipv4_text(member.host.ip), member.udp_port): Place.in_one_level(member.worker) for member in job.members
        }
        served = ServerJob(job.job, job.tag, members, job.slot_count, job.ops, job.code_table, self._accumulator_words)
        with self._server.lock:
            self._server.aggregator.admit(served)

    def remove(self, job: SwitchJob) -> None:
        """Forget the job."""
        with self._server.lock:
            self._server.aggregator.remove(job.job)

    def set_fault(self, port: int, *, ingress: bool, share: float) -> None:
        """Raises ConfigurationError: only a switch has ports to lose packets at."""
        raise ConfigurationError("There is no switch whose ports could lose packets.", "Run with a switch.")

    def decisions(self) -> dict[str, int]:
        """As of a switch: contributions, those that were accepted, and what became of them."""
        aggregator = self._server.aggregator
        with self._server.lock:
            counts = {decision.value: 0 for decision in Decision}
            counts |= {decision.value: number for decision, number in aggregator.decisions.items()}
            refused = dict(aggregator.refused)
        other_size = refused.pop(Refusal.SIZE, 0)
        accepted = sum(counts.values())
        return {
            "aggregate": accepted + sum(refused.values()),
            "accept": accepted,
            "route_other_size": other_size,
            **counts,
        }
