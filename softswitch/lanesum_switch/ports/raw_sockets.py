# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""AF_PACKET sockets (packet(7)): opened at an interface, with the VLAN tags that the kernel takes out of frames."""

from __future__ import annotations

import contextlib
import errno
import socket
import struct
from collections.abc import Iterator

from lanesum.errors import MissingToolError
from lanesum_switch.ports.port import PortError

RECEIVE_BUFFER_BYTES = 16 << 20
SEND_BUFFER_BYTES = 4 << 20
SOL_PACKET = 263
MAX_FRAME_BYTES = 65536 + 64
MAC_ADDRESSES_BYTES = 12  # in front of a tag; no whole frame is as short
PACKET_AUXDATA = 8
# struct tpacket_auxdata: status, two lengths, two offsets, then the tag's control information and protocol.
AUXDATA = struct.Struct("=IIIHHHH")
_TAG_IS_VALID = 1 << 4  # TP_STATUS_VLAN_VALID

_ETH_P_ALL = 0x0003
_PACKET_ADD_MEMBERSHIP = 1
_PACKET_MR_PROMISC = 1
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33


@contextlib.contextmanager
def opening(interface: str, without_privilege: str) -> Iterator[contextlib.ExitStack]:
    """Close the sockets in the yielded stack if they cannot be opened at ``interface``.

    Raises MissingToolError without CAP_NET_RAW, with the next step ``without_privilege``; PortError for an unknown
    interface.
    """
    try:
        with contextlib.ExitStack() as cleanup:
            yield cleanup
            cleanup.pop_all()
    except PermissionError as error:
        raise MissingToolError(
            f"Cannot open a raw socket at {interface}: the capability CAP_NET_RAW is missing.", without_privilege
        ) from error
    except OSError as error:
        if error.errno in (errno.ENODEV, errno.ENXIO):
            raise PortError(
                f"Unknown network interface {interface!r}.", "List the interfaces of this namespace with `ip link`."
            ) from error
        raise PortError(
            f"Cannot open the interface {interface!r}: {error.strerror}.", f"Look at it: ip link show {interface}"
        ) from error


def raw_socket() -> socket.socket:
    """Return a socket that receives nothing until it is bound: no frame of another interface arrives before."""
    return socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)


def enlarge_buffers(sock: socket.socket) -> None:
    """Enlarge the buffers of a socket, as far as a process without CAP_NET_ADMIN may."""
    for forced, plain, size in (
        (_SO_RCVBUFFORCE, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES),
        (_SO_SNDBUFFORCE, socket.SO_SNDBUF, SEND_BUFFER_BYTES),
    ):
        try:
            sock.setsockopt(socket.SOL_SOCKET, forced, size)
        except OSError:
            sock.setsockopt(socket.SOL_SOCKET, plain, size)


def bind(sock: socket.socket, interface: str) -> None:
    """Let a socket receive all frames of ``interface``; it does not block."""
    sock.bind((interface, _ETH_P_ALL))
    sock.setblocking(False)


def be_promiscuous(sock: socket.socket, interface: str) -> None:
    """Let the interface accept frames to other stations, too, as long as the socket is open."""
    membership = struct.pack("iHH8s", socket.if_nametoindex(interface), _PACKET_MR_PROMISC, 0, b"")
    sock.setsockopt(SOL_PACKET, _PACKET_ADD_MEMBERSHIP, membership)


def with_tag(frame: bytes, auxdata: bytes) -> bytes:
    """Return a frame with the VLAN tag of its metadata, if it had one."""
    status, *_, control, protocol = AUXDATA.unpack(auxdata)
    if not status & _TAG_IS_VALID:
        return frame
    return frame[:MAC_ADDRESSES_BYTES] + struct.pack(">HH", protocol, control) + frame[MAC_ADDRESSES_BYTES:]
