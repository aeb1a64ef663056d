# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Answers are recognized by their UDP source port; other traffic from that port is routed unchanged."""

from __future__ import annotations

import pytest

from lanesum.protocol import Header, Kind, Packet
from lanesum.protocol.spec import UDP_PORT, VERSION, Flag
from lanesum_fabric.program.switch_job import SWITCH_MAC
from lanesum_switch.frames import UdpFrame

from .star import NON_MEMBER, SERVER, Star, routed, worker_host
from .test_malformed import patched
from .test_udp_checksums import verified

RECEIVER = worker_host(2)


def from_server(payload: bytes, source_port: int = UDP_PORT) -> bytes:
    frame = UdpFrame(SERVER.mac, SWITCH_MAC, SERVER.ip, RECEIVER.ip, source_port, 40002, payload)
    return frame.pack(checksum=True)


def answer(kind: Kind, **fields: int) -> bytes:
    header = Header(kind=kind, words=8, **fields)
    return from_server(header.pack() + bytes(range(32)))


@pytest.mark.parametrize("kind", [Kind.RESULT, Kind.PENDING, Kind.CONFLICT], ids=lambda kind: kind.name)
def test_answers_of_the_server_are_routed_and_marked(star: Star, kind: Kind) -> None:
    """Routed to the worker's port, and marked where a queue is long."""
    frame = answer(kind)
    assert star.exchange(SERVER.port, frame) == routed(frame, RECEIVER)
    star.set_congestion(RECEIVER.port, 0)
    ((_, marked),) = star.exchange(SERVER.port, frame)
    assert Header.unpack(marked[42:]).flags == Flag.ECN
    assert verified(marked)
    assert star.decisions() == {"route": 2, "mark_answer": 1}


def test_answer_for_racks_from_a_host_is_dropped(star: Star) -> None:
    frame = answer(Kind.RESULT, flags=Flag.UPPER)
    # The server is attached to this switch, and only a switch sets the flag.
    assert star.exchange(SERVER.port, frame) == []
    assert star.decisions() == {"descend_or_route": 1, "drop_forged": 1}


def test_answer_with_a_wrong_length_is_dropped(star: Star) -> None:
    frame = patched(answer(Kind.RESULT), 42 + 30, b"\x00\x09")
    assert star.exchange(SERVER.port, frame) == []
    assert star.decisions() == {"drop_malformed": 1}


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(b"", id="empty"),
        pytest.param(bytes([VERSION << 4 | Kind.RESULT]), id="one byte"),
        pytest.param(bytes([VERSION << 4 | Kind.RESULT]) + bytes(30), id="a byte less than a header"),
        pytest.param(b"\x12\x34\x01\x00\x00\x01" + bytes(60), id="a name service's"),
        pytest.param(bytes([VERSION << 4 | Kind.CONTRIBUTION]) + bytes(60), id="a contribution to another port"),
        pytest.param(bytes([VERSION << 4]) + bytes(60), id="no kind"),
        pytest.param(bytes([VERSION + 1 << 4 | Kind.RESULT]) + bytes(60), id="an answer of another version"),
    ],
)
def test_other_traffic_from_the_port_is_routed(star: Star, payload: bytes) -> None:
    frame = from_server(payload)
    assert star.exchange(SERVER.port, frame) == routed(frame, RECEIVER)
    star.set_congestion(RECEIVER.port, 0)
    assert star.exchange(SERVER.port, frame) == routed(frame, RECEIVER)
    assert star.decisions() == {"route": 2}


def test_answers_from_other_ports_are_other_traffic(star: Star) -> None:
    payload = Packet(Header(kind=Kind.RESULT, flags=Flag.UPPER), star.admit(1).words(1)[0]).pack()
    frame = from_server(payload, source_port=UDP_PORT + 1)
    assert star.exchange(SERVER.port, frame) == routed(frame, RECEIVER)
    assert star.decisions() == {"route": 1}


def test_truncated_answer_is_dropped(star: Star) -> None:
    frame = answer(Kind.RESULT)
    for length in range(star.target.min_frame_bytes, 74):
        assert star.exchange(SERVER.port, frame[:length]) == []
    assert star.decisions() == {"drop_malformed": 74 - star.target.min_frame_bytes}
    assert star.exchange(NON_MEMBER.port, frame) == [], "no other host sends from the server's address"
