# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ports of a topology's switch, on loopback or at network interfaces, with the faults of a plan."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES, Address, open_udp_socket
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import UDP_PORT
from lanesum_fabric.program.switch_job import SWITCH_MAC
from lanesum_fabric.topology import Topology
from lanesum_switch.faults.links import LinkFaults
from lanesum_switch.faults.plan import DOWN, UP
from lanesum_switch.faults.topology_names import switch_links
from lanesum_switch.frames import mac_bytes
from lanesum_switch.ports.afpacket import AfPacketPort
from lanesum_switch.ports.faulty import FaultyPort
from lanesum_switch.ports.port import Port
from lanesum_switch.ports.udp import UdpFlow, UdpPortConfig, UdpSockets, open_udp_ports


class ServerPort(UdpSockets):
    """A port for aggregation servers on loopback, with a socket per worker and server. It needs no root.

    Workers send to a server's address, where the switch's UDP ports listen (see ``udp``); the server itself listens at
    its *backend* address. This port has a socket with each worker's address. The server therefore sees the worker as
    the sender, and its replies arrive at the switch. A port for several servers has such sockets for each of them.

    Args:
        servers: addresses that workers send to.
        backends: address that the process of each of these servers listens at.
        server_mac: six bytes, the source of received frames.
        switch_mac: six bytes, their destination.
        checksums: frames have UDP checksums, and corrupted frames do not reach the server (see ``UdpFlow``).

    Raises ConfigurationError if a worker's address is in use by a socket that does not share it.
    """

    def __init__(
        self,
        servers: Sequence[Address],
        backends: Sequence[Address],
        server_mac: bytes,
        switch_mac: bytes,
        workers: Sequence[Address],
        *,
        checksums: bool = False,
    ) -> None:
        super().__init__()
        try:
            for worker, (server, backend) in itertools.product(workers, zip(servers, backends, strict=True)):
                flow = UdpFlow(server, worker, server_mac, switch_mac, checksums=checksums)
                self._add(flow, open_udp_socket(worker, peer=backend, shared=True))
        except OSError as error:
            self.close()
            raise ConfigurationError(
                f"The switch cannot send to the server from the worker's address {worker[0]}:{worker[1]}: "
                f"{error.strerror}.",
                "Stop the process that uses the address (another run?), or choose another topology address.",
            ) from error


_RECEIVE_BATCH = 64


class TrunkPort:
    """An end of a link between two switch processes on one machine: frames as UDP datagrams on loopback, without root.

    Datagrams need no connection, so either process may restart. Frames sent meanwhile are lost, as on an unplugged
    cable. Unix datagram sockets are not used because Linux queues only 10 datagrams on them by default
    (net.unix.max_dgram_qlen).

    Attributes:
        unsent: frames that the kernel did not accept: the other process does not run, its queue is full, or a datagram
            cannot hold the frame.

    Raises ConfigurationError if ``local`` is in use.
    """

    def __init__(self, local: Address, peer: Address) -> None:
        self.unsent = 0
        try:
            self._socket = open_udp_socket(local, peer=peer)
        except OSError as error:
            raise ConfigurationError(
                f"The link between two switches cannot use the address {local[0]}:{local[1]}: {error.strerror}.",
                "Stop the process that uses the address (another run?).",
            ) from error

    def fileno(self) -> int:
        return self._socket.fileno()

    def receive_batch(self) -> list[bytes]:
        """Return waiting frames, at most 64."""
        frames: list[bytes] = []
        for _ in range(_RECEIVE_BATCH):
            try:
                frames.append(self._socket.recv(MAX_DATAGRAM_BYTES))
            except BlockingIOError:
                break
            except ConnectionRefusedError:
                continue  # an earlier frame was refused
        return frames

    def send(self, frame: bytes) -> None:
        """Send a frame; count and drop it if the kernel does not accept it."""
        try:
            self._socket.send(frame)
        except OSError:
            self.unsent += 1

    def close(self) -> None:
        """Close the socket; idempotent."""
        self._socket.close()


def worker_address(topology: Topology, worker: str) -> Address:
    """Return the address that a worker sends from on loopback."""
    return topology.address(worker, loopback=True), UDP_PORT


def server_port(topology: Topology, servers: list[str], workers: list[str], *, checksums: bool) -> ServerPort:
    """Open the loopback port of ``servers``. Raises ConfigurationError."""
    return ServerPort(
        [topology.server_address(server, loopback=True) for server in servers],
        [topology.server_backend(server, loopback=True) for server in servers],
        mac_bytes(topology.nodes[servers[0]].mac_text),
        SWITCH_MAC,
        [worker_address(topology, worker) for worker in workers],
        checksums=checksums,
    )


def worker_ports(topology: Topology, ports: Mapping[str, int], *, checksums: bool) -> dict[str, Port]:
    """Open the loopback ports of workers; ``ports`` has their numbers. Raises ConfigurationError."""
    servers = tuple(topology.server_address(server, loopback=True) for server in topology.server_hosts())
    configs = [
        UdpPortConfig(
            number=number,
            servers=servers,
            host=worker_address(topology, worker),
            host_mac=mac_bytes(topology.nodes[worker].mac_text),
            switch_mac=SWITCH_MAC,
            checksums=checksums,
        )
        for worker, number in ports.items()
    ]
    return dict(zip(ports, open_udp_ports(configs), strict=True))


def loopback_ports(topology: Topology, switch: str, faults: LinkFaults | None = None) -> dict[int, Port]:
    """Open the ports of ``switch`` on loopback, by number.

    Workers and servers have UDP sockets, other switches have trunks. The controller has no port: it reaches the switch
    by P4Runtime. Raises ConfigurationError, with no port open.
    """
    numbers = topology.ports(switch)
    workers = {name: numbers[name] for name in topology.names("worker") if name in numbers}
    check_apart(topology)
    checksums = faults is not None
    ports: dict[int, Port] = {}
    try:
        for name, port in worker_ports(topology, workers, checksums=checksums).items():
            ports[numbers[name]] = port
        for server in topology.server_hosts():
            if server in numbers:
                every = topology.names("worker")
                ports[numbers[server]] = server_port(topology, [server], every, checksums=checksums)
        for index, link in enumerate(switch_links(topology)):
            # Addresses that no host has: 127.255.LINK.END.
            lower, upper = (f"127.255.{index}.{end}" for end in (1, 2))
            if switch == link.lower:
                ports[link.lower_port] = TrunkPort((lower, UDP_PORT), (upper, UDP_PORT))
            elif switch == link.upper:
                ports[link.upper_port] = TrunkPort((upper, UDP_PORT), (lower, UDP_PORT))
        return with_faults(topology, switch, ports, faults)
    except ConfigurationError:
        for port in ports.values():
            port.close()
        raise


def check_apart(topology: Topology) -> None:
    """Raise ConfigurationError if a worker and a server share a host, which leaves no path for a switch."""
    if shared := set(topology.server_hosts()) & set(topology.names("worker")):
        raise ConfigurationError(
            f"On loopback no switch can be between a worker and a server on the same host, as on {min(shared)}.",
            "Place the servers on other hosts, use Mininet, or use no switch.",
        )


def interface_ports(
    topology: Topology, switch: str, interfaces: Mapping[int, str], faults: LinkFaults | None = None
) -> dict[int, Port]:
    """Open the ports of ``switch`` at network interfaces (number -> name). Raises PortError or MissingToolError."""
    ports: dict[int, Port] = {number: AfPacketPort(name) for number, name in interfaces.items()}
    return with_faults(topology, switch, ports, faults)


def with_faults(
    topology: Topology, switch: str, ports: Mapping[int, Port], faults: LinkFaults | None
) -> dict[int, Port]:
    """Return the ports of ``switch``, with an injector at each link that the plan has faults for."""
    result = dict(ports)
    if faults is None:
        return result
    servers = topology.names("server")
    for link, number in links_of(topology, switch).items():
        injector = faults.injector(link) if number in result else None
        if injector is not None:
            result[number] = FaultyPort(result[number], injector, inbound=DOWN if link in servers else UP)
    return result


def links_of(topology: Topology, switch: str) -> dict[str, int]:
    """Return the links that this switch injects faults on, with their ports: to hosts and to lower switches."""
    below = {link.name: link.upper_port for link in switch_links(topology) if link.upper == switch}
    return topology.ports(switch) | below
