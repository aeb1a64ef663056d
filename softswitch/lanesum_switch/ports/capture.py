# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Capture of lanesum packets at a network interface."""

from __future__ import annotations

import errno
import select
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass

from lanesum._internal.closing import Closing
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header, PacketError
from lanesum.protocol.spec import HEADER_BYTES, UDP_PORT, VERSION, WORD_BYTES, Flag, Kind
from lanesum_switch.frames import UdpFrame
from lanesum_switch.ports.raw_sockets import (
    AUXDATA,
    MAC_ADDRESSES_BYTES,
    MAX_FRAME_BYTES,
    PACKET_AUXDATA,
    SOL_PACKET,
    be_promiscuous,
    bind,
    enlarge_buffers,
    opening,
    raw_socket,
    with_tag,
)

_VLAN_TYPES = (b"\x81\x00", b"\x88\xa8")  # IEEE 802.1Q, IEEE 802.1ad
_TAG_BYTES = 4
_SO_TIMESTAMPNS = 35  # socket(7), asm-generic/socket.h
_TIMESPEC = struct.Struct("@qq")
_PACKET_STATISTICS = 6
_STATISTICS = struct.Struct("@II")  # struct tpacket_stats: frames, and those that found the buffer full
_PACKET_OUTGOING = 4
_ARPHRD_LOOPBACK = 772
_ANCILLARY_BYTES = socket.CMSG_SPACE(AUXDATA.size) + socket.CMSG_SPACE(_TIMESPEC.size)
_NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class PacketSelection:
    """Choice of packets.

    Attributes:
        job: number of a job; None for all, and for datagrams that are no lanesum packets.
    """

    ports: tuple[int, ...] = (UDP_PORT,)
    job: int | None = None

    def packets(self, frame: bytes) -> list[bytes]:
        """Return the chosen packets of a frame, each as a frame.

        A frame holds several packets where the kernel splits or joins datagrams (UDP GSO and GRO).
        """
        tag = frame[MAC_ADDRESSES_BYTES : MAC_ADDRESSES_BYTES + _TAG_BYTES]
        is_tagged = tag[:2] in _VLAN_TYPES
        untagged = frame[:MAC_ADDRESSES_BYTES] + frame[MAC_ADDRESSES_BYTES + _TAG_BYTES :] if is_tagged else frame
        datagram = UdpFrame.unpack(untagged)
        if datagram is None or not {datagram.source_port, datagram.destination_port} & set(self.ports):
            return []
        payloads = [one for one in split(datagram.payload) if self.job is None or _job(one) == self.job]
        if payloads == [datagram.payload]:
            return [frame]
        frames = [datagram.with_payload(one).pack() for one in payloads]
        return [one[:MAC_ADDRESSES_BYTES] + tag * is_tagged + one[MAC_ADDRESSES_BYTES:] for one in frames]


def split(payload: bytes) -> list[bytes]:
    """Return the packets of joined datagrams; ``[payload]`` if it is empty, or has more than whole packets."""
    packets, rest = [], payload
    while rest:
        try:
            header = Header.unpack(rest)
        except PacketError:
            return [payload]
        size = HEADER_BYTES + header.words * WORD_BYTES
        if header.version != VERSION or size > len(rest):
            return [payload]
        packets.append(rest[:size])
        rest = rest[size:]
    return packets or [payload]


def _job(payload: bytes) -> int | None:
    try:
        header = Header.unpack(payload)
    except PacketError:
        return None
    return header.job if header.version == VERSION else None


def summary(frame: bytes) -> str:
    """Return one line about a packet of ``PacketSelection.packets``."""
    tagged = frame[MAC_ADDRESSES_BYTES : MAC_ADDRESSES_BYTES + 2] in _VLAN_TYPES
    datagram = UdpFrame.unpack(frame[:MAC_ADDRESSES_BYTES] + frame[MAC_ADDRESSES_BYTES + _TAG_BYTES * tagged :])
    assert datagram is not None
    try:
        packet = Header.unpack(datagram.payload)
    except PacketError as error:
        return error.what
    if packet.version != VERSION:
        return f"Protocol version {packet.version}"
    kind = Kind(packet.kind).name if packet.kind in list(Kind) else f"kind {packet.kind}"
    op = LaneOp(packet.op).name if packet.op in list(LaneOp) else f"op {packet.op}"
    workers = ",".join(str(number) for number in range(packet.workers.bit_length()) if packet.workers >> number & 1)
    flags = " ".join(str(flag.name) for flag in Flag if packet.flags & flag)
    return (
        f"{kind} job {packet.job} epoch {packet.epoch} chunk {packet.chunk} slot {packet.slot}/{packet.shadow} {op} "
        f"workers {workers or 'none'} [{flags}] {packet.words} words"
    )


class InterfaceCapture(Closing):
    """Frames of a network interface in both directions, with their times.

    Raises MissingToolError without CAP_NET_RAW, PortError for an unknown interface.
    """

    def __init__(self, interface: str) -> None:
        step = (
            "Run as root, or capture at a port of the embedded switch: lanesum switch --loopback --capture PORT@FILE."
        )
        with opening(interface, step) as cleanup:
            self._socket = cleanup.enter_context(raw_socket())
            self._socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            enlarge_buffers(self._socket)
            bind(self._socket, interface)
            be_promiscuous(self._socket, interface)

    def frames(self, until: float | None = None) -> Iterator[tuple[bytes, int]]:
        """Yield frames and their times in nanoseconds since 1970, until ``time.monotonic()`` is ``until``."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        while True:
            left_s = None if until is None else until - time.monotonic()
            if (left_s is not None and left_s <= 0) or not poll.poll(None if left_s is None else 1000 * left_s):
                return
            try:
                frame, ancillary, _, address = self._socket.recvmsg(MAX_FRAME_BYTES, _ANCILLARY_BYTES)
            except OSError as error:
                # An interface that goes down reports it once.
                if error.errno not in (errno.ENETDOWN, errno.EAGAIN):
                    raise
                continue
            _, _, packet_type, hardware_type, _ = address
            if packet_type == _PACKET_OUTGOING and hardware_type == _ARPHRD_LOOPBACK:
                continue  # it arrives at the same interface
            now = time.time_ns()
            for level, kind, data in ancillary:
                if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                    frame = with_tag(frame, data)
                elif (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
                    seconds, nanoseconds = _TIMESPEC.unpack(data)
                    now = seconds * _NS_PER_S + nanoseconds
            yield frame, now

    def lost(self) -> int:
        """Return the number of frames since the last call that found the buffer full."""
        return int(_STATISTICS.unpack(self._socket.getsockopt(SOL_PACKET, _PACKET_STATISTICS, _STATISTICS.size))[1])

    def close(self) -> None:
        """Close the socket; idempotent."""
        self._socket.close()
