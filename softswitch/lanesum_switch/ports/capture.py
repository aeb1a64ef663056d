# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Capture of lanesum packets at a network interface, capture files, and ports that write their frames to one."""

from __future__ import annotations

import contextlib
import errno
import logging
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lanesum._internal.closing import Closing
from lanesum._internal.output_file import OutputFile
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header, PacketError
from lanesum.protocol.spec import HEADER_BYTES, UDP_PORT, VERSION, WORD_BYTES, Flag, Kind
from lanesum_switch.frames import UdpFrame
from lanesum_switch.ports.afpacket import (
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
from lanesum_switch.ports.port import Port, backlog_of

_log = logging.getLogger("lanesum_switch.ports")

# The pcap format with timestamps in nanoseconds (IETF draft-ietf-opsawg-pcap).
_FILE_HEADER = struct.Struct("<IHHiIII")
_PACKET_HEADER = struct.Struct("<IIII")
_MAGIC_NANOSECONDS = 0xA1B23C4D
_VERSION = (2, 4)
_MAX_FRAME_BYTES = 1 << 18
_LINKTYPE_ETHERNET = 1
_NS_PER_S = 1_000_000_000

# Frames of a file unless told otherwise: about 35 MB of results.
DEFAULT_MAX_FRAMES = 100_000


class PcapWriter(Closing):
    """Capture file of Ethernet frames. Thread-safe.

    Args:
        path: file that is replaced at once, and grows; ``-`` for standard output.
        max_frames: bound of the file; later frames are dropped.

    Its methods raise ConfigurationError if the file cannot be written.
    """

    def __init__(self, path: Path, max_frames: int = DEFAULT_MAX_FRAMES) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._room = max_frames
        with self._errors():
            self._output = None if str(path) == "-" else OutputFile(path)
            self._file: BinaryIO = sys.stdout.buffer if self._output is None else self._output.file
            header = (_MAGIC_NANOSECONDS, *_VERSION, 0, 0, _MAX_FRAME_BYTES, _LINKTYPE_ETHERNET)
            self._file.write(_FILE_HEADER.pack(*header))
            self._file.flush()
            if self._output is not None:
                self._output.commit()  # programs may read the capture while it grows

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._room = 0
            raise ConfigurationError(
                f"Cannot write the capture file {self._path}: {error.strerror}.", "Give another file."
            ) from error

    def write(self, frame: bytes, time_ns: int | None = None) -> None:
        """Write a frame of the given time, in nanoseconds since 1970; default: the present time."""
        now = time.time_ns() if time_ns is None else time_ns
        with self._lock, self._errors():
            if self._room <= 0 or self._file.closed:
                return
            self._room -= 1
            self._file.write(_PACKET_HEADER.pack(now // _NS_PER_S, now % _NS_PER_S, len(frame), len(frame)) + frame)

    def flush(self) -> None:
        """Write buffered frames, for programs that read the file meanwhile."""
        with self._lock, self._errors():
            self._file.flush()

    def close(self) -> None:
        """Close the file; idempotent."""
        with self._lock, self._errors():
            if self._output is None:
                self._file.flush()
            else:
                self._output.close()


class CapturedPort:
    """A port whose frames, received and sent, are also written to a capture file. ``close`` closes both.

    The port works on if the file cannot be written any more.
    """

    def __init__(self, port: Port, writer: PcapWriter) -> None:
        self._port = port
        self._writer = writer

    def fileno(self) -> int:
        return self._port.fileno()

    def receive_batch(self) -> list[bytes]:
        """Return the waiting frames of the port."""
        frames = self._port.receive_batch()
        self._capture(*frames)
        return frames

    def send(self, frame: bytes) -> None:
        """Send a frame by the port."""
        self._capture(frame)
        self._port.send(frame)

    def _capture(self, *frames: bytes) -> None:
        try:
            for frame in frames:
                self._writer.write(frame)
        except ConfigurationError as error:
            _log.error("%s The capture ends.", error.what)

    def backlog(self) -> int:
        """Return the number of frames that wait at the port."""
        return backlog_of(self._port)

    def close(self) -> None:
        """Close the port and the file; idempotent."""
        self._port.close()
        with contextlib.suppress(ConfigurationError):  # a full disk was reported before
            self._writer.close()


_VLAN_TYPES = (b"\x81\x00", b"\x88\xa8")  # IEEE 802.1Q, IEEE 802.1ad
_TAG_BYTES = 4
_SO_TIMESTAMPNS = 35  # socket(7), asm-generic/socket.h
_TIMESPEC = struct.Struct("@qq")
_PACKET_STATISTICS = 6
_STATISTICS = struct.Struct("@II")  # struct tpacket_stats: frames, and those that found the buffer full
_PACKET_OUTGOING = 4
_ARPHRD_LOOPBACK = 772
_ANCILLARY_BYTES = socket.CMSG_SPACE(AUXDATA.size) + socket.CMSG_SPACE(_TIMESPEC.size)


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
