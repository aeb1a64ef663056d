# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Process that relays frames with the faults of a plan, for switches and servers without an injector.

``python -m lanesum_switch.cli.relay LOWER UPPER --plan FILE --link NAME`` connects two network interfaces; UPPER is
nearer to the server. ``--loopback --topology NAME`` relays between workers and servers on loopback.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from lanesum.cli.signals import wait_for_signal
from lanesum.errors import LanesumError
from lanesum_fabric.topology import load
from lanesum_switch.api import PacketOut
from lanesum_switch.faults.links import LinkFaults
from lanesum_switch.faults.plan import FaultPlan
from lanesum_switch.ports.afpacket import AfPacketPort
from lanesum_switch.ports.faulty import FaultyPort
from lanesum_switch.ports.port import Port
from lanesum_switch.ports.runner import PortRunner
from lanesum_switch.ports.topology import check_apart, server_port, worker_ports


class RelayLinks:
    """Links between ports: ports 0 and 1 are the lower and the upper end of one, 2 and 3 those of the next."""

    def process_batch(self, packets: Iterable[tuple[int, bytes]]) -> list[PacketOut]:
        """Return every frame with the other end of its link."""
        return [PacketOut(port ^ 1, frame) for port, frame in packets]


def link_ends(lower: Port, upper: Port, faults: LinkFaults, link: str) -> tuple[Port, Port]:
    """Return the two ends of a link, with the plan's faults between them."""
    injector = faults.injector(link)
    return (lower if injector is None else FaultyPort(lower, injector)), upper


def relay(links: Sequence[tuple[Port, Port]]) -> PortRunner:
    """Return a runner that carries frames between the ends of every link; a context manager."""
    return PortRunner(RelayLinks(), dict(enumerate(port for ends in links for port in ends)))


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="lanesum_switch.cli.relay", description="Relay frames with the faults of a plan."
    )
    parser.add_argument(
        "interfaces", nargs="*", metavar="INTERFACE", help="interfaces of the lower and of the upper end"
    )
    parser.add_argument("--plan", required=True, help="fault plan")
    parser.add_argument("--link", help="the link's name in the plan")
    parser.add_argument("--counts", type=Path, help="folder of the counters")
    parser.add_argument("--loopback", action="store_true", help="relay between workers and servers on loopback")
    parser.add_argument("--topology", default="star4", help="topology of the workers, for --loopback")
    options = parser.parse_args(argv)
    if len(options.interfaces) != (0 if options.loopback else 2) or (options.link is None) != options.loopback:
        parser.error("give LOWER, UPPER and --link, or --loopback")
    return options


def open_links(options: argparse.Namespace) -> list[tuple[Port, Port]]:
    """Open the links of the command line. Raises LanesumError."""
    faults = LinkFaults(FaultPlan.load(options.plan), options.counts)
    if not options.loopback:
        lower, upper = map(AfPacketPort, options.interfaces)
        return [link_ends(lower, upper, faults, options.link)]
    topology = load(options.topology)
    check_apart(topology)
    servers = topology.server_hosts()
    workers = topology.names("worker")
    lower_ends = worker_ports(topology, {worker: 2 * index for index, worker in enumerate(workers)}, checksums=True)
    return [
        link_ends(lower_ends[worker], server_port(topology, servers, [worker], checksums=True), faults, worker)
        for worker in workers
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Relay until SIGTERM; return the exit code."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        with relay(open_links(arguments(argv))):
            while True:
                wait_for_signal()
    except LanesumError as error:
        print(error, file=sys.stderr, flush=True)
        return error.exit_code


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(0)


if __name__ == "__main__":
    sys.exit(main())
