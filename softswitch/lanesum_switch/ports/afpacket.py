# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A port on a network interface through an AF_PACKET socket (packet(7)).

Offloads: frames that a local socket sent over a veth may carry unfinished checksums and, with segmentation offload, be
larger than the MTU. Switch the offloads off on the host's end (``ethtool -K eth0 tx off tso off gso off``), as for
BMv2. Frames arrive without their outer VLAN tag where the interface strips it (``rxvlan off`` keeps it).
"""

from __future__ import annotations

import errno
import fcntl
import socket
import struct
import time

from lanesum.errors import MissingToolError
from lanesum_switch.ports.port import PortError

RECEIVE_BUFFER_BYTES = 16 << 20
SEND_BUFFER_BYTES = 4 << 20

_BATCH = 64
_MAX_FRAME_BYTES = 65536 + 64
_ETH_P_ALL = 0x0003
_SOL_PACKET = 263
_PACKET_ADD_MEMBERSHIP = 1
_PACKET_MR_PROMISC = 1
_PACKET_IGNORE_OUTGOING = 23  # Linux 4.20
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_SIOCOUTQ = 0x5411  # socket(7)

# What the kernel charges a socket for one waiting frame, bookkeeping included. This is for results of 64 and of 128
# words (330 and 586 bytes); frames of 200 bytes count as two thirds, full ones of 1,500 as two.
WAITING_FRAME_BYTES = 1280
# How long a backlog counts as known. Asking the kernel costs as much as a tenth of a packet's processing.
_BACKLOG_AGE_NS = 100_000


class AfPacketPort:
    """Sends and receives whole frames on one interface, in promiscuous mode.

    Raises MissingToolError without CAP_NET_RAW, PortError where there is no such interface.
    """

    def __init__(self, interface: str) -> None:
        self.interface = interface
        self._backlog = 0
        self._backlog_ns = 0
        self.unsent = 0  # frames that the kernel did not take (queue full, interface down, larger than the MTU)
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        except PermissionError as error:
            raise MissingToolError(
                f"Opening a raw socket on {interface} needs the capability CAP_NET_RAW.",
                "Run as root, or use UDP ports (--loopback), which need no privilege.",
            ) from error
        try:
            self._configure()
        except OSError as error:
            self._socket.close()
            if error.errno in (errno.ENODEV, errno.ENXIO):
                raise PortError(
                    f"There is no network interface {interface}.", "`ip link` lists the interfaces of this namespace."
                ) from error
            raise PortError(f"Cannot open the interface {interface}: {error.strerror}.") from error

    def _configure(self) -> None:
        sock = self._socket
        for forced, plain, size in (
            (_SO_RCVBUFFORCE, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES),
            (_SO_SNDBUFFORCE, socket.SO_SNDBUF, SEND_BUFFER_BYTES),
        ):
            try:
                sock.setsockopt(socket.SOL_SOCKET, forced, size)
            except OSError:
                sock.setsockopt(socket.SOL_SOCKET, plain, size)
        # What the switch itself sends must not come back in.
        sock.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        # Only with a protocol does the socket receive, so that nothing from other interfaces slips in before bind.
        sock.bind((self.interface, _ETH_P_ALL))
        membership = struct.pack("iHH8s", socket.if_nametoindex(self.interface), _PACKET_MR_PROMISC, 0, b"")
        sock.setsockopt(_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, membership)
        sock.setblocking(False)

    def fileno(self) -> int:
        return self._socket.fileno()

    def receive_batch(self) -> list[bytes]:
        """Frames that are waiting, 64 at most."""
        frames: list[bytes] = []
        receive = self._socket.recv
        try:
            for _ in range(_BATCH):
                frames.append(receive(_MAX_FRAME_BYTES))
        except BlockingIOError:
            pass
        except OSError as error:
            # An interface that goes down reports so once; frames received before still count.
            if error.errno != errno.ENETDOWN:
                raise
        return frames

    def send(self, frame: bytes) -> None:
        """Send a frame; what the kernel does not take is counted and dropped."""
        try:
            self._socket.send(frame)
        except OSError:
            self.unsent += 1

    def backlog(self) -> int:
        """About how many frames of this socket wait in the kernel to be sent, at most 100 us ago."""
        now = time.monotonic_ns()
        if now - self._backlog_ns > _BACKLOG_AGE_NS:
            unsent = fcntl.ioctl(self._socket, _SIOCOUTQ, bytes(4))
            self._backlog = int.from_bytes(unsent, "little", signed=True) // WAITING_FRAME_BYTES
            self._backlog_ns = now
        return self._backlog

    def close(self) -> None:
        """Give the socket back; idempotent."""
        self._socket.close()
