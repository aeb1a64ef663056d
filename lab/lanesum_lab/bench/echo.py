# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Echo process (arguments ADDRESS PORT): the minimum of a round trip."""

from __future__ import annotations

import socket

from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES


def main(arguments: list[str]) -> None:
    """Send every datagram back until the process ends."""
    address, port = arguments
    buffer = bytearray(MAX_DATAGRAM_BYTES)
    view = memoryview(buffer)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((address, int(port)))
        while True:
            size, peer = sock.recvfrom_into(buffer)
            sock.sendto(view[:size], peer)
