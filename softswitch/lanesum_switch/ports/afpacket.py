# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A port at a network interface, on an AF_PACKET socket (packet(7)).

Offloads: frames that a local socket sends over a veth may have incomplete checksums and, with segmentation offload,
exceed the MTU. Disable the offloads at the host's end (``ethtool -K eth0 tx off tso off gso off``), as for BMv2.

VLAN tags: the kernel moves the outer tag of a received frame from its bytes to metadata, which only the slower
``recvmsg`` reads. Therefore a socket filter (the classic BPF of socket(7)) cuts tagged frames to a mark, and a second
socket receives them whole. The switch gets them with their tag.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import socket
import struct
import time
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


_BATCH = 64
_PACKET_IGNORE_OUTGOING = 23  # Linux 4.20
_SIOCOUTQ = 0x5411  # socket(7)
_SIOCGIFFLAGS, _IFREQ_BYTES, _INTERFACE_BYTES = 0x8913, 40, 16  # netdevice(7)
_UP_AND_RUNNING = 0x41
_SO_ATTACH_FILTER = 26

_WHOLE = 0x40000
_BPF_LOAD_WORD, _BPF_JUMP_IF_EQUAL, _BPF_RETURN = 0x20, 0x15, 0x06
_BPF_VLAN_TAG_PRESENT = 0xFFFFF000 + 48

# Send buffer bytes that the kernel charges for one waiting frame, for results of 64 and of 128 words (330 and 586
# bytes). It charges two thirds of that for frames of 200 bytes and twice as much for frames of 1,500 bytes.
WAITING_FRAME_BYTES = 1280
# Age up to which a measured backlog is used again. The system call takes a tenth of the time of processing a packet.
_MAX_BACKLOG_AGE_NS = 100_000


def _attach_filter(sock: socket.socket, *, tagged: int, others: int) -> None:
    """Keep this many bytes of frames whose tag is in metadata, and of all others; 0 drops them."""
    code = [
        (_BPF_LOAD_WORD, 0, 0, _BPF_VLAN_TAG_PRESENT),
        (_BPF_JUMP_IF_EQUAL, 1, 0, 0),
        (_BPF_RETURN, 0, 0, tagged),
        (_BPF_RETURN, 0, 0, others),
    ]
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in code))
    sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("@HP", len(code), ctypes.addressof(program)))


class AfPacketPort:
    """A port at a network interface in promiscuous mode.

    Attributes:
        unsent: frames that the kernel did not accept (queue full, interface down, larger than the MTU).

    Raises MissingToolError without CAP_NET_RAW, PortError for an unknown interface.
    """

    def __init__(self, interface: str) -> None:
        self.interface = interface
        self._backlog = 0
        self._backlog_ns = 0
        self.unsent = 0
        step = "Run as root, or use UDP ports (--loopback), which need no privilege."
        with opening(interface, step) as cleanup:
            self._socket, self._tagged = (cleanup.enter_context(raw_socket()) for _ in range(2))
            self._configure()

    def _configure(self) -> None:
        sock = self._socket
        _attach_filter(sock, tagged=MAC_ADDRESSES_BYTES, others=_WHOLE)
        _attach_filter(self._tagged, tagged=_WHOLE, others=0)
        self._tagged.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        enlarge_buffers(sock)
        # Tagged frames first: each is there when its mark is.
        for one in (self._tagged, sock):
            # Frames that the switch sends must not arrive at it.
            one.setsockopt(SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
            bind(one, self.interface)
        be_promiscuous(sock, self.interface)

    def fileno(self) -> int:
        return self._socket.fileno()

    def receive_batch(self) -> list[bytes]:
        """Return waiting frames, at most 64."""
        frames: list[bytes] = []
        receive = self._socket.recv
        try:
            for _ in range(_BATCH):
                frame = receive(MAX_FRAME_BYTES)
                frames.append(frame if len(frame) > MAC_ADDRESSES_BYTES else self._with_tag())
        except BlockingIOError:
            pass
        except OSError as error:
            # An interface that goes down reports it once; frames received before are returned.
            if error.errno != errno.ENETDOWN:
                raise
        return frames

    def _with_tag(self) -> bytes:
        """Return the next tagged frame with its tag. Raises BlockingIOError if the kernel had no room for it."""
        frame, ancillary, _, _ = self._tagged.recvmsg(MAX_FRAME_BYTES, socket.CMSG_SPACE(AUXDATA.size))
        return with_tag(frame, ancillary[0][2])

    def send(self, frame: bytes) -> None:
        """Send a frame; count and drop it if the kernel does not accept it."""
        try:
            self._socket.send(frame)
        except OSError:
            self.unsent += 1

    def backlog(self) -> int:
        """Return about how many frames of this socket wait in the kernel to be sent, as of at most 100 µs ago."""
        now = time.monotonic_ns()
        if now - self._backlog_ns > _MAX_BACKLOG_AGE_NS:
            unsent = fcntl.ioctl(self._socket, _SIOCOUTQ, bytes(4))
            self._backlog = int.from_bytes(unsent, "little", signed=True) // WAITING_FRAME_BYTES
            self._backlog_ns = now
        return self._backlog

    def is_up(self) -> bool:
        """Return True if the interface is up and has a carrier; False also for one that is gone."""
        request = self.interface.encode().ljust(_IFREQ_BYTES, b"\0")
        try:
            found = struct.unpack_from("=H", fcntl.ioctl(self._socket, _SIOCGIFFLAGS, request), _INTERFACE_BYTES)
        except OSError:
            return False
        return int(found[0]) & _UP_AND_RUNNING == _UP_AND_RUNNING

    def close(self) -> None:
        """Close the sockets; idempotent."""
        self._socket.close()
        self._tagged.close()
