# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Requests for jobs: their checks, and the values that they leave to the controller.

The packet size of a job is that of the switches on its path, or else the largest that the path carries. It is chosen at
admission. An outage changes nothing: tickets stay valid, and a switch usually returns sooner than
workers could begin again. So a job that loses its switch keeps its size until it is admitted again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, ETHERNET_MTU, FULL_ACCUMULATOR_WORDS, MAX_RACKS
from lanesum.transport.path_check import largest_words
from lanesum_control.errors import AdmissionError
from lanesum_control.jobs.records import Incarnation, Job, JobRequest
from lanesum_control.planner.network import Network
from lanesum_control.planner.placement import racks_of
from lanesum_control.planner.planning import new_incarnation, taken_ports, with_port
from lanesum_fabric.program.capabilities import Capabilities


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


class Requests:
    """Completes requests beside the present jobs, which must not change meanwhile.

    Args:
        sizes: rules for packet sizes.
        jobs: returns the admitted jobs by name.
        programs: returns the capabilities of all controlled switches by name.
    """

    def __init__(
        self,
        sizes: PacketSizes,
        jobs: Callable[[], Mapping[str, Job]],
        programs: Callable[[], Mapping[str, Capabilities]],
    ) -> None:
        self.sizes, self._network = sizes, sizes.network
        self._jobs, self._programs = jobs, programs

    def sized(self, request: JobRequest, addresses: Sequence[str] | None, path_mtu: int | None) -> JobRequest:
        """Return a checked request with its packet size; the arguments are those of ``Controller.admit``.

        Raises AdmissionError, ConfigurationError.
        """
        if addresses is not None:
            busy = {host for other in self._present() if other.name != request.name for host in other.workers}
            request = replace(request, workers=self._network.hosts_of(addresses, busy))
        self.check(request)
        request = self.sizes.sized(request, path_mtu)
        self.check(request)
        return request

    def with_slots(self, request: JobRequest) -> JobRequest:
        """Return a request of known hosts with its number of slots."""
        return request.with_slots(switched=self.sizes.has_switch(request.workers))

    def with_port(self, request: JobRequest) -> JobRequest:
        """Return a request with its UDP port."""
        one_port = self._network.one_port and bool(self.sizes.switches)
        return with_port(request, self._present(), self._network, one_port=one_port)

    def renewed(self, request: JobRequest) -> JobRequest:
        """Return the request of a new incarnation, whose path may need another packet size or port.

        Raises AdmissionError, ConfigurationError.
        """
        self.check(request)
        words = self.sizes.required(request.workers)
        if words not in (None, request.words):
            request = request.with_words(words)
        if request.port in taken_ports(request, self._present(), self._network):
            request = self.with_port(replace(request, udp_port=None))
        return request

    def check(self, request: JobRequest) -> None:
        """Check a request without regard to other jobs. Raises AdmissionError, ConfigurationError."""
        request.check(self._network.at)
        request.code_table()

    def incarnation(self, request: JobRequest, number: int) -> Incarnation:
        """Return the next incarnation of the job with this number."""
        lookups = {op for op in LaneOp if op.shape.lookup}
        looks_up = all(lookups <= ops for ops in {program.ops for program in self._programs().values()})
        return new_incarnation(request, number, self._jobs().values(), self._network.servers, looks_up)

    def _present(self) -> list[JobRequest]:
        return [job.request for job in self._jobs().values()]
