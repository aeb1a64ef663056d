# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated kernels make and take the same frames as real ones, and nothing that is damaged."""

from __future__ import annotations

import random

from lanesum_switch.frames import UdpFrame
from tests.simulator.kernel import Endpoint, damage, is_marked, mark, pack, unpack

ONE, OTHER = Endpoint(0x0A000001, b"\2\0\0\0\0\1"), Endpoint(0x0A000002, b"\2\0\0\0\0\2")


def test_frames_are_those_of_the_library() -> None:
    rng = random.Random(1)
    for size in (*range(40), 200, 1000):
        payload = rng.randbytes(size)
        frame = pack(ONE, OTHER, 40000, 19539, payload)
        library = UdpFrame(ONE.mac, OTHER.mac, ONE.ip, OTHER.ip, 40000, 19539, payload)
        assert frame == library.pack(checksum=True)
        assert unpack(frame, OTHER) == (ONE.ip, 40000, 19539, payload, False)
        assert unpack(library.pack(), OTHER) is not None
        assert unpack(frame, ONE) is None


def test_nothing_damaged_is_taken() -> None:
    rng = random.Random(2)
    for _ in range(3000):
        frame = pack(ONE, OTHER, 40000, 19539, rng.randbytes(rng.randrange(60)))
        damaged = damage(frame, rng.getrandbits(24))
        assert damaged == frame or unpack(damaged, OTHER) is None


def test_marked_frames_are_taken_as_marked() -> None:
    frame = pack(ONE, OTHER, 40000, 19539, b"words")
    datagram = unpack(mark(frame), OTHER)
    assert datagram is not None and datagram.congested
    assert is_marked(mark(frame)) and not is_marked(frame)
