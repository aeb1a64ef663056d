# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A port on UDP sockets, for one host that sends UDP datagrams to servers. It needs no root.

P4 programs parse Ethernet frames, UDP sockets carry payloads: the port adds Ethernet, IPv4 and UDP headers to received
datagrams and removes them from frames that leave. It listens at the servers' addresses, so that the switch is on the
path of the host's datagrams.
"""

from __future__ import annotations

import select
import socket
from dataclasses import dataclass

from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES, Address, open_udp_socket
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import ETHERNET_BYTES, IPV4_BYTES, UDP_BYTES
from lanesum_switch.frames import UdpFrame, internet_checksum, ipv4_int, udp_checksum, udp_prefix

_UDP_AT = ETHERNET_BYTES + IPV4_BYTES
_PAYLOAD_AT = _UDP_AT + UDP_BYTES
_RECEIVE_BATCH = 64
_PLAIN_IPV4 = b"\x08\x00\x45"


class UdpFlow:
    """Encapsulation of the datagrams between two addresses in Ethernet frames.

    Args:
        source, destination: IPv4 address and UDP port.
        source_mac, destination_mac: six bytes.
        checksums: write UDP checksums and drop frames with a wrong one, as a host's kernel does. Otherwise frames
            have UDP checksum 0: loopback corrupts no datagram unless a fault plan does.
    """

    def __init__(
        self, source: Address, destination: Address, source_mac: bytes, destination_mac: bytes, *, checksums: bool
    ) -> None:
        self._frame = UdpFrame(
            source_mac,
            destination_mac,
            ipv4_int(source[0]),
            ipv4_int(destination[0]),
            source[1],
            destination[1],
            b"",
        )
        self._checksums = checksums
        self._prefixes: dict[int, bytes] = {}
        # Addresses, then ports, of frames to the source, as in the frame.
        self.key = b"".join(number.to_bytes(4, "big") for number in (self._frame.destination_ip, self._frame.source_ip))
        self.key += b"".join(port.to_bytes(2, "big") for port in (destination[1], source[1]))

    def frame(self, payload: bytes) -> bytes:
        """Return the frame of a datagram from source to destination."""
        size = len(payload)
        prefix = self._prefixes.get(size)
        if prefix is None:
            prefix = self._prefixes[size] = udp_prefix(self._frame, size)
        if not self._checksums:
            return prefix + payload
        checksum = udp_checksum(self._frame.source_ip, self._frame.destination_ip, prefix[_UDP_AT:] + payload)
        return prefix[: _PAYLOAD_AT - 2] + checksum.to_bytes(2, "big") + payload

    def payload(self, frame: bytes) -> bytes | None:
        """Return the UDP payload of a frame with ``key``; None if it has none, or is corrupted."""
        if frame[12:15] != _PLAIN_IPV4:
            return None
        end = _UDP_AT + int.from_bytes(frame[38:40], "big")
        if end < _PAYLOAD_AT or end > len(frame) or (self._checksums and not intact(frame[:end])):
            return None
        return frame[_PAYLOAD_AT:end]


def intact(frame: bytes) -> bool:
    """Return True if the IPv4 and UDP checksums of a frame hold; UDP checksum 0 holds.

    ``frame`` ends with the datagram.
    """
    if internet_checksum(frame[ETHERNET_BYTES:_UDP_AT]) != 0:
        return False
    if frame[_PAYLOAD_AT - 2 : _PAYLOAD_AT] == b"\x00\x00":
        return True
    source, destination = int.from_bytes(frame[26:30], "big"), int.from_bytes(frame[30:34], "big")
    return udp_checksum(source, destination, frame[_UDP_AT:]) == 0xFFFF


class UdpSockets:
    """Base of ports with a UDP socket for every flow.

    Attributes:
        undeliverable: frames of no flow, without UDP, corrupted, or not accepted by the kernel.
    """

    def __init__(self) -> None:
        self.undeliverable = 0
        self._flows: dict[bytes, tuple[UdpFlow, socket.socket]] = {}
        self._by_descriptor: dict[int, tuple[UdpFlow, socket.socket]] = {}
        self._poll = select.epoll()

    def _add(self, flow: UdpFlow, sock: socket.socket) -> None:
        self._flows[flow.key] = self._by_descriptor[sock.fileno()] = flow, sock
        self._poll.register(sock.fileno(), select.EPOLLIN)

    def fileno(self) -> int:
        return self._poll.fileno()

    def receive_batch(self) -> list[bytes]:
        """Return waiting frames, at most 64 from every socket."""
        frames: list[bytes] = []
        for descriptor, _ in self._poll.poll(0):
            flow, sock = self._by_descriptor[descriptor]
            receive, frame = sock.recv, flow.frame
            try:
                for _ in range(_RECEIVE_BATCH):
                    frames.append(frame(receive(MAX_DATAGRAM_BYTES)))
            except (BlockingIOError, ConnectionRefusedError):
                continue  # refused: the peer has no open socket; workers retransmit
        return frames

    def send(self, frame: bytes) -> None:
        """Send the UDP payload of a flow's frame; count and drop any other frame."""
        found = self._flows.get(frame[26:38])
        payload = None if found is None else found[0].payload(frame)
        if found is None or payload is None:
            self.undeliverable += 1
            return
        try:
            found[1].send(payload)
        except OSError:
            self.undeliverable += 1

    def close(self) -> None:
        """Close the sockets; idempotent."""
        self._poll.close()
        for _, sock in self._flows.values():
            sock.close()


@dataclass(frozen=True, slots=True)
class UdpPortConfig:
    """Configuration of a ``UdpPort``.

    Attributes:
        number: the port's number in the program.
        servers: addresses that the host sends to; the port listens there.
        host: address that the host sends from; the port receives no other datagrams.
        host_mac: six bytes, the source of received frames.
        switch_mac: six bytes, their destination.
        checksums: frames have UDP checksums, and corrupted frames do not reach the host (see ``UdpFlow``).
    """

    number: int
    servers: tuple[Address, ...]
    host: Address
    host_mac: bytes
    switch_mac: bytes
    checksums: bool = False


class UdpPort(UdpSockets):
    """A port for one host, with a socket per server.

    Raises ConfigurationError if an address cannot be bound.
    """

    def __init__(self, config: UdpPortConfig) -> None:
        super().__init__()
        self.number = config.number
        self._claims: list[socket.socket] = []
        for server in config.servers:
            try:
                self._open(config, server)
            except OSError as error:
                self.close()
                raise ConfigurationError(
                    f"Switch port {config.number} cannot listen at {server[0]}:{server[1]} for {config.host[0]}: "
                    f"{error.strerror}.",
                    "Stop the process that uses the address (another run, or a server without --behind-switch?), or "
                    "choose another topology address.",
                ) from error

    def _open(self, config: UdpPortConfig, server: Address) -> None:
        self._claims.append(_claim(server, config.host))
        flow = UdpFlow(config.host, server, config.host_mac, config.switch_mac, checksums=config.checksums)
        # All ports listen at the same address; a connected socket receives the datagrams of its own host only.
        self._add(flow, open_udp_socket(server, peer=config.host, shared=True))

    def close(self) -> None:
        """Close the sockets; idempotent."""
        super().close()
        for claim in self._claims:
            claim.close()


def _claim(server: Address, host: Address) -> socket.socket:
    """Return a socket bound to a name that stands for the port's addresses. Raises OSError.

    Ports share the server's UDP address, so a second switch could bind it too. Only one process can bind the name.
    """
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        # An abstract name (unix(7)), which the kernel removes when the process ends.
        claim.bind(f"\0lanesum-port/{server[0]}:{server[1]}/{host[0]}:{host[1]}")
    except OSError:
        claim.close()
        raise
    return claim


def open_udp_ports(configs: list[UdpPortConfig]) -> list[UdpPort]:
    """Open all ports. Raises ConfigurationError, with no port open, if another process uses a server's address."""
    ports: list[UdpPort] = []
    try:
        for config in configs:
            ports.append(UdpPort(config))
    except ConfigurationError:
        for port in ports:
            port.close()
        raise
    return ports
