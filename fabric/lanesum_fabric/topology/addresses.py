# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Addresses in a topology, for commands of packages that do not read topology files themselves."""

from __future__ import annotations

from lanesum._internal.udp_socket import Address
from lanesum.errors import ConfigurationError
from lanesum_fabric.topology.files import load


def server_address(topology: str, host: str | None, loopback: bool, behind_switch: bool) -> Address:
    """Return the UDP address of a topology's aggregation server.

    Args:
        topology: a shipped topology's name or a YAML file.
        host: the server's host; None where the topology has one server.
        loopback: use the address below 127.0.0.0/8.
        behind_switch: with ``loopback``, return the port after the server's, because a switch holds that.

    Raises ConfigurationError: no such topology or server, or several servers and no ``host``.
    """
    network = load(topology)
    servers = network.server_hosts()
    if host is None and len(servers) > 1:
        raise ConfigurationError(f"{network.name} has several servers.", f"Give --host {'|'.join(servers)}.")
    if host is not None and host not in servers:
        raise ConfigurationError(f"{network.name} has no server at {host}.", f"Its servers: {', '.join(servers)}.")
    address = network.server_backend if behind_switch else network.server_address
    return address(host, loopback=loopback)
