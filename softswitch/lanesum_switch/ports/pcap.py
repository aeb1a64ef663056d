# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Capture files, and ports that write their frames to one."""

from __future__ import annotations

import contextlib
import logging
import struct
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from lanesum._internal.closing import Closing
from lanesum._internal.output_file import OutputFile
from lanesum.errors import ConfigurationError
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
