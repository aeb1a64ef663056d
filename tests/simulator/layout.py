# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Hosts, switches and the wires between them, by name."""

from __future__ import annotations

import functools
import struct

from lanesum.protocol.spec import UDP_PORT
from lanesum_fabric.program.switch_job import SWITCH_MAC, HostPort
from tests.simulator import kernel
from tests.simulator.kernel import Endpoint
from tests.simulator.scenario import (
    AT_UPPER,
    ONE_SWITCH,
    RACKS,
    SERVER_ALONE,
    SERVERS,
    UPPER,
    Scenario,
    rack_switch,
)

Address = tuple[str, int]
Place = tuple[str, int]  # node, port

SERVER_ADDRESSES: dict[str, Address] = {
    name: (f"10.0.1.{number}", UDP_PORT) for number, name in enumerate(SERVERS, start=1)
}
_SERVER_OF_IP = {ip: name for name, (ip, _) in SERVER_ADDRESSES.items()}
# on a port and with an address of its own; no member of any job
OUTSIDER_ADDRESS: Address = ("10.0.2.1", 40000)
OUTSIDER = "outsider"
_OTHER_UDP_PORTS = 40000
MAX_WORKERS = 16
_TRUNKS, _UPLINK, _SERVER_PORT, _OUTSIDER_PORT = 100, 110, 120, 119  # port of the first server; the next ones follow


def host_name(host: int) -> str:
    return f"host{host}"


@functools.cache
def host_ip(host: int) -> str:
    return f"10.0.0.{host + 1}"


def address(line: int, host: int) -> Address:
    """Return the address of a worker; workers of several lines on one host have different ports."""
    return host_ip(host), _OTHER_UDP_PORTS + line if line else UDP_PORT


def code_table(line: int) -> bytes:
    """Return the code table of a line; every line has another one, so that a confusion shows."""
    return bytes((17 * entry + 5 * line + entry * entry) & 0xFF for entry in range(16))


@functools.cache
def ip_int(ip: str) -> int:
    number: int = struct.unpack(">I", bytes(map(int, ip.split("."))))[0]
    return number


@functools.cache
def ip_text(ip: int) -> str:
    return ".".join(map(str, struct.pack(">I", ip)))


@functools.cache
def endpoint(ip: str) -> Endpoint:
    number = ip_int(ip)
    return Endpoint(number, b"\x02\0" + struct.pack(">I", number))


def frame_to_switch(source: Address, destination: Address, datagram: bytes) -> bytes:
    """Return the frame of a datagram as it leaves a host."""
    receiver = kernel.Endpoint(endpoint(destination[0]).ip, SWITCH_MAC)
    return kernel.pack(endpoint(source[0]), receiver, source[1], destination[1], datagram)


class Layout:
    """Network of a scenario.

    Attributes:
        switches: names of the switches.
        servers: names of the servers; each slot belongs to one of them.
        wires: (node, port) -> (node, port) at the other end.
        latency_s: latency of the wires without a host.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.network = scenario.network
        self.servers = SERVERS[: scenario.servers]
        self._homes = scenario.homes
        self.hosts = 1 + max(one.host for line in scenario.lines for job in line.jobs for one in job.workers)
        self.trunk_s = scenario.trunk_s
        self.switches: tuple[str, ...] = ()
        self.wires: dict[Place, Place] = {}
        if scenario.network == ONE_SWITCH:
            self.switches = (rack_switch(0),)
        elif scenario.network == RACKS:
            racks = sorted({home for home in scenario.homes[: self.hosts] if home != AT_UPPER})
            self.switches = (*map(rack_switch, racks), UPPER)
            for rack in racks:
                self._wire((rack_switch(rack), _UPLINK), (UPPER, _TRUNKS + rack))
        if scenario.network != SERVER_ALONE:
            for number, server in enumerate(self.servers):
                self._wire((self.top, _SERVER_PORT + number), (server, 0))
            self._wire((self.top, _OUTSIDER_PORT), (OUTSIDER, 0))
            for host in range(self.hosts):
                self._wire((self.switch_of(host), host), (host_name(host), 0))

    def _wire(self, one: Place, other: Place) -> None:
        self.wires[one] = other
        self.wires[other] = one

    @property
    def top(self) -> str:
        """Name of the switch that the servers are attached to."""
        return self.switches[-1]

    def server_of(self, shadow_slot: int) -> str:
        """Return the server of a packet's slot."""
        return self.servers[(shadow_slot & 0x7FFF) % len(self.servers)]

    def home(self, host: int) -> int:
        """Return the rack of a host, or ``AT_UPPER``."""
        return self._homes[host] if self.network == RACKS else 0

    def switch_of(self, host: int) -> str:
        """Return the switch that a host is attached to."""
        home = self.home(host)
        return UPPER if home == AT_UPPER else rack_switch(home)

    def way_up(self, switch: str) -> int:
        """Return the uplink port of a switch, towards the first server."""
        return _SERVER_PORT if switch == self.top else _UPLINK

    def host_port(self, switch: str, ip: str) -> HostPort:
        """Return the port of a host as a switch sees it."""
        one = endpoint(ip)
        port, attached = self.way_up(switch), switch == self.top
        if ip == OUTSIDER_ADDRESS[0]:
            port = _OUTSIDER_PORT if attached else port
        elif ip in _SERVER_OF_IP:
            port += self.servers.index(_SERVER_OF_IP[ip]) if attached else 0
        else:
            host = int(ip.rsplit(".", 1)[1]) - 1
            attached = self.switch_of(host) == switch
            if attached:
                port = host
            elif switch == self.top:
                port = _TRUNKS + self.home(host)
        return HostPort(port, one.ip, one.mac if attached else SWITCH_MAC, attached)

    def all_hosts(self, switch: str) -> list[HostPort]:
        """Return all hosts as a controller adds them."""
        servers = (SERVER_ADDRESSES[server][0] for server in self.servers)
        ips = (*servers, OUTSIDER_ADDRESS[0], *map(host_ip, range(self.hosts)))
        return [self.host_port(switch, ip) for ip in ips]
