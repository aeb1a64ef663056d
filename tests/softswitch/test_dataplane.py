# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Queue depths that a program reads, and objects that it lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_switch.api import (
    ActionCall,
    InvalidArgumentError,
    Match,
    NotFoundError,
    PacketOut,
    SwitchError,
    TableEntry,
)
from lanesum_switch.dataplane import EmbeddedSwitch

ETHERNET = bytes(12) + b"\x08\x00"


# IPv4 to 10.0.0.9, ECN-capable, TTL 9, protocol 89.
PACKET = ETHERNET + bytes.fromhex("4502001400000000095900000a0000010a000009")


def checksummed(frame: bytes) -> bytes:
    """Return the frame with its IPv4 header checksum."""
    words = [int.from_bytes(frame[at : at + 2], "big") for at in range(14, 34, 2)]
    total = sum(words)
    return frame[:24] + (0xFFFF - (total - 1) % 0xFFFF - 1).to_bytes(2, "big") + frame[26:]


@pytest.mark.parametrize(
    ("depth", "marked"), [(None, False), (0, False), (6, False), (7, True), (1 << 19, True), (1 << 40, True)]
)
def test_queue_depth_of_egress_port_marks_from_threshold(depth: int | None, marked: bool) -> None:
    """The lanesum program marks from 7 packets on. A depth that does not fit 19 bits counts as the largest."""
    asked: list[int] = []

    def queue_depth(port: int) -> int:
        asked.append(port)
        return depth or 0

    switch = EmbeddedSwitch(queue_depth=None if depth is None else queue_depth)
    switch.load(bmv2_pipeline(64).json_path.read_bytes())
    packet = checksummed(PACKET)
    station = TableEntry(
        (Match(int.from_bytes(packet[:6], "big")),), ActionCall("IngressPipeline.station.to_switch", (0, 0, 0))
    )
    switch.tables["IngressPipeline.station.station"].insert(station)
    route = ActionCall("IngressPipeline.forward.route", (5, 1, 2))
    switch.tables["IngressPipeline.forward.forward"].insert(TableEntry((Match(0x0A000009, 32),), route))
    above = ActionCall("EgressPipeline.congestion.mark_above", (7,))
    switch.tables["EgressPipeline.congestion.congestion"].insert(TableEntry((Match(5),), above))
    ((port, frame),) = switch.process(2, packet)
    assert port == 5
    assert (frame[15] & 3 == 3) is marked
    assert asked == ([] if depth is None else [5])


def test_failed_pass_sends_nothing_and_leaves_no_effects() -> None:
    """A later pass of a packet fails: its copies do not leave, and its effects are not those of the next packet."""
    switch = EmbeddedSwitch()

    def run(port: int, frame: bytes, out: list[PacketOut], effects: list[Any], origin: object) -> None:
        if origin is not None:
            raise ZeroDivisionError
        out.append(PacketOut(port, frame))
        if frame:
            effects.extend([(1, b"", "recirculated")] * 2)

    switch._run = run
    assert switch.process(1, b"x") == []
    assert [one.frame for one in switch.process(1, b"")] == [b""]
    assert (switch.counts.program_errors, switch.counts.dropped) == (1, 1)


@pytest.mark.parametrize(
    ("error", "message", "change"),
    [
        (NotFoundError, "There is no multicast group 7", lambda switch: switch.set_multicast_group(7, None)),
        (
            InvalidArgumentError,
            "Multicast group id 65536 is not from 1 to 65535",
            lambda switch: switch.set_multicast_group(1 << 16, []),
        ),
        (NotFoundError, "There is no clone session 5", lambda switch: switch.set_clone_session(5, None)),
        (NotFoundError, "The program has no register I.words", lambda switch: switch.read_register("I.words", 0)),
        (
            NotFoundError,
            r"The program has no parser value set P\.known, only \[\]",
            lambda switch: switch.set_value_set("P.known", [1]),
        ),
    ],
)
def test_switch_without_the_named_object_raises(
    error: type[SwitchError], message: str, change: Callable[[EmbeddedSwitch], object]
) -> None:
    with pytest.raises(error, match=message):
        change(EmbeddedSwitch())
