# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A cable with faults, as a process: for switches and servers that have no injector in themselves.

``python -m lanesum_switch.cli.relay LOWER UPPER --plan FILE --link NAME`` joins two network interfaces, UPPER
being the one nearer to the server. ``--loopback --topology NAME`` stands between the
workers on loopback and the server instead.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from lanesum.errors import LanesumError
from lanesum_control.topology import load
from lanesum_switch.api import PacketOut
from lanesum_switch.faults.links import LinkFaults
from lanesum_switch.faults.plan import FaultPlan
from lanesum_switch.ports.afpacket import AfPacketPort
from lanesum_switch.ports.faulty import FaultyPort
from lanesum_switch.ports.port import Port
from lanesum_switch.ports.runner import PortRunner
from lanesum_switch.ports.topology import check_apart, server_port, worker_ports


class Cables:
    """Ports 0 and 1 are the lower and the upper end of one cable, 2 and 3 those of the next, and so on."""

    def process_batch(self, packets: Iterable[tuple[int, bytes]]) -> list[PacketOut]:
        return [PacketOut(port ^ 1, frame) for port, frame in packets]


def cable(lower: Port, upper: Port, faults: LinkFaults, link: str) -> tuple[Port, Port]:
    """The two ends of a link, with the plan's faults between them."""
    injector = faults.injector(link)
    return (lower if injector is None else FaultyPort(lower, injector)), upper


def relay(cables: Sequence[tuple[Port, Port]]) -> PortRunner:
    """A runner that carries frames from either end of every cable to the other; a context manager."""
    return PortRunner(Cables(), dict(enumerate(port for ends in cables for port in ends)))


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="lanesum_switch.cli.relay", description="A cable with the faults of a plan.")
    parser.add_argument("interfaces", nargs="*", metavar="INTERFACE", help="lower and upper end")
    parser.add_argument("--plan", required=True, help="fault plan")
    parser.add_argument("--link", help="the link's name in the plan")
    parser.add_argument("--counts", type=Path, help="folder for the counts")
    parser.add_argument("--loopback", action="store_true", help="between workers on loopback and the server")
    parser.add_argument("--topology", default="star4", help="whose workers, for --loopback")
    options = parser.parse_args(argv)
    if len(options.interfaces) != (0 if options.loopback else 2) or (options.link is None) != options.loopback:
        parser.error("give LOWER, UPPER and --link, or --loopback")
    return options


def open_cables(options: argparse.Namespace) -> list[tuple[Port, Port]]:
    """The cables of the command line. Raises LanesumError."""
    faults = LinkFaults(FaultPlan.load(options.plan), options.counts)
    if not options.loopback:
        lower, upper = map(AfPacketPort, options.interfaces)
        return [cable(lower, upper, faults, options.link)]
    topology = load(options.topology)
    check_apart(topology)
    servers = topology.server_hosts()
    workers = topology.names("worker")
    lower_ends = worker_ports(topology, {worker: 2 * index for index, worker in enumerate(workers)}, checksums=True)
    return [
        cable(lower_ends[worker], server_port(topology, servers, [worker], checksums=True), faults, worker)
        for worker in workers
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Relay until SIGTERM; returns the exit code."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        with relay(open_cables(arguments(argv))):
            while True:
                signal.pause()
    except LanesumError as error:
        print(error, file=sys.stderr, flush=True)
        return error.exit_code


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(0)


if __name__ == "__main__":
    sys.exit(main())
