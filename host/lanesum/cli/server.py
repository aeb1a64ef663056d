# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum server``: run an aggregation server."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from lanesum import environment, logs
from lanesum._internal.exporters import exporter
from lanesum._internal.offload import Offload
from lanesum._internal.udp_socket import Address
from lanesum.cli.app import ArgumentParser
from lanesum.cli.signals import limit_heaps, raise_file_limit, serve_until_signal
from lanesum.errors import ConfigurationError, MissingToolError
from lanesum.protocol.spec import UDP_PORT
from lanesum.rpc import tls
from lanesum.server.service import DEFAULT_CONTROL, serve

# An entry point of this group finds a server's address in a topology file.
TOPOLOGY_GROUP = "lanesum.server_address"


def parser() -> ArgumentParser:
    """Return the parser of the command line."""
    options = ArgumentParser(
        prog="lanesum server", description="Run an aggregation server: it sums all packets that no switch consumed."
    )
    add = options.add_argument
    add("--listen", metavar="HOST:PORT", help="UDP address for workers' packets (default: that in the topology)")
    add("--topology", default="star4", help="shipped topology or YAML file (default: star4; needs lanesum-fabric)")
    add("--host", help="host of the server in a topology that has several servers")
    add("--loopback", action="store_true", help="use the hosts' addresses below 127.0.0.0/8 in the topology")
    add("--behind-switch", action="store_true", help="with --loopback: listen at the next port: a switch has this one")
    add("--control", default=DEFAULT_CONTROL, metavar="HOST:PORT", help="for the controller (default: %(default)s)")
    add("--journal", type=Path, metavar="FOLDER", help="folder that keeps decisions of jobs with a quorum")
    add("--threads", type=int, help="threads of the native server (default: one for two processors, at most four)")
    offload = "hand the kernel joined packets; auto is off where a software switch may have to see each of them"
    add("--offload", choices=get_args(Offload), default="auto", help=offload)
    folder = os.environ.get(environment.TLS) or None
    identity = f"ca.crt, tls.crt and tls.key of the control service (default: {environment.TLS})"
    add("--tls", type=Path, metavar="FOLDER", default=folder, help=identity)
    add("--metrics", metavar="HOST:PORT", help="serve Prometheus metrics at this address (needs lanesum[metrics])")
    add("--log-format", choices=logs.FORMATS, help="write logs with their time to standard error")
    add("--insecure", action="store_true", help="accept services that others reach, without TLS")
    return options


def main(argv: Sequence[str]) -> int:
    """Serve until SIGINT or SIGTERM.

    Raises:
        ConfigurationError: an address that cannot be used, or a topology without such a server.
        MissingToolError: a topology is needed, and lanesum-fabric is not installed.
    """
    options = parser().parse_args(argv)
    if options.listen is not None:
        address = _udp_address(options.listen)
    else:
        address = _in_topology(options.topology, options.host, options.loopback, options.behind_switch)
    credentials = tls.credentials_for("control service", options.control, options.tls, insecure=options.insecure)
    if options.log_format is not None:
        logs.set_up(options.log_format)
    limit_heaps()
    raise_file_limit()
    more = {"threads": options.threads, "offload": options.offload, "credentials": credentials}
    with contextlib.ExitStack() as stack:
        server, service = stack.enter_context(serve(address, options.control, options.journal, **more))
        if options.metrics is not None:
            stack.enter_context(exporter("server")(server, options.metrics, options.tls, options.insecure))
        ip, port = server.address
        serve_until_signal(f"server at {ip}:{port}, for controllers at {service.address}")
    return 0


def _in_topology(topology: str, host: str | None, loopback: bool, behind_switch: bool) -> Address:
    found = importlib.metadata.entry_points(group=TOPOLOGY_GROUP)
    if not found:
        raise MissingToolError(
            "Topologies need the package lanesum-fabric, which is not installed.",
            f"Give --listen HOST:PORT (for example 0.0.0.0:{UDP_PORT}), or pip install lanesum-fabric.",
        )
    address: Address = next(iter(found)).load()(topology, host, loopback, behind_switch)
    return address


def _udp_address(text: str) -> Address:
    ip, _, port = text.rpartition(":")
    if not ip or not port.isdecimal():
        raise ConfigurationError(f"Invalid --listen {text!r}: expected HOST:PORT.", "For example 10.19.0.100:19539.")
    return ip, int(port)
