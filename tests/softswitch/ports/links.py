# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Helpers of port tests."""

from __future__ import annotations

import select
import time
from collections.abc import Iterable

from lanesum_switch.api import PacketOut
from lanesum_switch.ports.port import Port


class Crossover:
    """A switch with a link between ports 0 and 1; it sends the frame ``lost`` to port 7."""

    def process_batch(self, packets: Iterable[tuple[int, bytes]]) -> list[PacketOut]:
        return [PacketOut(7 if frame == b"lost" else 1 - port, frame) for port, frame in packets]


def wait_frames(port: Port, count: int) -> list[bytes]:
    """Poll a port as the runner does; return its frames."""
    frames: list[bytes] = []
    deadline = time.monotonic() + 120
    while len(frames) < count and time.monotonic() < deadline:
        select.select([port], [], [], 0.1)
        frames += port.receive_batch()
    return frames
