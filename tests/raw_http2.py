# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Peers that speak just enough HTTP/2 to misuse a gRPC server: silent, slow, and with bytes that no library sends."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from typing import Any

DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY, CONTINUATION = 0, 1, 3, 4, 7, 9
END_STREAM, END_HEADERS = 1, 4
_HEADER_TABLE_SIZE, _INITIAL_WINDOW_SIZE = 1, 4


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def _literal(name: bytes, value: bytes) -> bytes:
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def headers(path: bytes, stream: int = 1, more: tuple[tuple[bytes, bytes], ...] = ()) -> bytes:
    fields = [
        (b":method", b"POST"), (b":scheme", b"http"), (b":path", path), (b":authority", b"x"), (b"te", b"trailers"),
        (b"content-type", b"application/grpc"), *more,
    ]  # fmt: skip
    return frame(HEADERS, END_HEADERS, stream, b"".join(_literal(*field) for field in fields))


def message(data: bytes, stream: int = 1) -> bytes:
    return frame(DATA, END_STREAM, stream, b"\0" + struct.pack(">I", len(data)) + data)


#: Begins HTTP/2; with a table of headers of no bytes, so that the server sends their names as text.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, struct.pack(">HI", _HEADER_TABLE_SIZE, 0))


class RawPeer:
    """A connection to a gRPC server at ``host:port``. Use as a context manager.

    Args:
        preface: begin HTTP/2; without it the server waits for the first byte.
        window: bytes of an answer that this peer accepts.
        source: address of this peer.
    """

    def __init__(self, address: str, *, preface: bool = True, window: int | None = None, source: str = "") -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), source_address=(source, 0))
        self._bytes = b""
        if preface:
            self.send(PREFACE)
        if window is not None:
            self.send(frame(SETTINGS, 0, 0, struct.pack(">HI", _INITIAL_WINDOW_SIZE, window)))

    def __enter__(self) -> RawPeer:
        return self

    def __exit__(self, *_: Any) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def next_frame(self, *kinds: int, timeout_s: float = 200.0) -> tuple[int, int, int, bytes] | None:
        """Return kind, flags, stream and payload of the next frame, of one of ``kinds`` if there are any.

        None once the server has closed. Raises TimeoutError.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            while len(self._bytes) < 9 or len(self._bytes) < 9 + int.from_bytes(self._bytes[:3], "big"):
                self._socket.settimeout(max(1e-3, deadline - time.monotonic()))
                try:
                    received = self._socket.recv(1 << 16)
                except ConnectionResetError:
                    return None
                if not received:
                    return None
                self._bytes += received
            end = 9 + int.from_bytes(self._bytes[:3], "big")
            stream = int.from_bytes(self._bytes[5:9], "big")
            found = self._bytes[3], self._bytes[4], stream, self._bytes[9:end]
            self._bytes = self._bytes[end:]
            if not kinds or found[0] in kinds:
                return found

    def status(self, stream: int | None = None, timeout_s: float = 200.0) -> int | None:
        """Return the status with which the server ends a call, or any call; None if it closes the connection."""
        name = b"grpc-status"
        while (found := self.next_frame(HEADERS, timeout_s=timeout_s)) is not None:
            _, flags, of, payload = found
            if stream in (None, of) and flags & END_STREAM and name in payload:
                at = payload.index(name) + len(name)
                return int(payload[at + 1 : at + 1 + payload[at]])
        return None

    def is_closed(self, timeout_s: float = 200.0) -> bool:
        """Return True if the server closes the connection in time."""
        with contextlib.suppress(TimeoutError):
            deadline = time.monotonic() + timeout_s
            while self.next_frame(timeout_s=deadline - time.monotonic()) is not None:
                pass
            return True
        return False
