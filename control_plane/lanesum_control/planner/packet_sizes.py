# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packet size of a job: that of the switches on its path, or else the largest that the path carries.

It is chosen at admission. An outage changes nothing: tickets stay valid, and a switch usually returns sooner than
workers could begin again. So a job that loses its switch keeps its size until it is admitted again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, ETHERNET_MTU, FULL_ACCUMULATOR_WORDS, MAX_RACKS
from lanesum.transport.path_check import largest_words
from lanesum_control.errors import AdmissionError
from lanesum_control.jobs.records import JobRequest
from lanesum_control.planner.network import Network
from lanesum_control.planner.placement import racks_of


@dataclass(frozen=True, slots=True)
class PacketSizes:
    """Rules of a controller for packet sizes, in accumulator words.

    Attributes:
        network: hosts, switches and links.
        switches: names of the controlled switches.
        given: words per packet of the program of all switches, or without switches of all jobs; None for the default.
    """

    network: Network
    switches: Collection[str]
    given: int | None

    @property
    def default(self) -> int:
        """Words of the program, or without switches of jobs without a measured path MTU."""
        if self.given is not None:
            return self.given
        return DEFAULT_ACCUMULATOR_WORDS if self.switches else FULL_ACCUMULATOR_WORDS

    def has_switch(self, workers: Iterable[str]) -> bool:
        """Return True if a controlled switch is on the path of a job with workers at these hosts."""
        return not self.network.on_path(workers).isdisjoint(self.switches)

    def required(self, workers: Iterable[str]) -> int | None:
        """Return the words that packets of these workers must have; None if any number will do."""
        return self.default if self.has_switch(workers) else None if self.switches else self.given

    def sized(self, request: JobRequest, path_mtu: int | None) -> JobRequest:
        """Return a request of known hosts with its packet size.

        ``path_mtu``: smallest path MTU between workers and servers; None if it is unknown. Raises AdmissionError.
        """
        required = self.required(request.workers)
        if required is not None:
            if request.words not in (None, required):
                raise AdmissionError(
                    f"Job {request.name!r} asks for packets of {request.words} words, and its path has packets of "
                    f"{required}.",
                    "Leave the words out.",
                )
            return replace(request, words=required)
        if request.words is not None:
            return request
        # The bitmaps of the contributors to a quorum follow the words.
        bitmaps = MAX_RACKS if request.threshold and len(racks_of(request.workers, self.network)) > 1 else 0
        words = largest_words(ETHERNET_MTU if path_mtu is None else path_mtu, bitmaps)
        if words < 1:
            raise AdmissionError(
                f"Job {request.name!r}: packets do not fit a path MTU of {path_mtu} bytes.",
                "Raise the MTU of every device on the path.",
            )
        return replace(request, words=words)
