# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A small complete aggregation program: parser, registers, tables, multicast, egress, on both chips."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from lanesum_switch.api import ActionCall, Match, PacketOut, Replica, TableEntry
from lanesum_switch.tna.switch import TofinoSwitch

from .conftest import Load, printed

MEMBERS = 3
GROUP = 7
ADD, MAX = 0, 1
SOURCE, DESTINATION = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")


def frame(member: int, slot: int, words: tuple[int, int], op: int = ADD, rest: bytes = b"") -> bytes:
    ethernet = DESTINATION + SOURCE + bytes.fromhex("88b5")
    body = bytes([op, member]) + slot.to_bytes(2, "big")
    return ethernet + body + b"".join(word.to_bytes(4, "big") for word in words) + rest


def address(port: int) -> int:
    return 0x0200_0000_1000 + port


def admit(switch: TofinoSwitch, ports: tuple[int, ...] = (1, 2, 3)) -> None:
    for bit, port in enumerate(ports):
        args = (1 << bit, len(ports), GROUP)
        switch.tables["Ingress.member"].insert(TableEntry((Match(port), Match(bit)), ActionCall("Ingress.admit", args)))
        switch.tables["Egress.receiver"].insert(
            TableEntry((Match(port), Match(100 + bit)), ActionCall("Egress.address", (address(port),)))
        )
    switch.set_multicast_group(GROUP, [Replica(port, 100 + bit) for bit, port in enumerate(ports)])


@pytest.fixture(params=["sum", "sum-2"])
def switch(request: pytest.FixtureRequest, load: Load) -> Iterator[TofinoSwitch]:
    found = load(request.param)
    admit(found)
    yield found


def test_chip_is_that_of_the_program(load: Load) -> None:
    tna = [load(name).tna for name in ("sum", "sum-2")]
    assert [program.chip.title for program in tna if program is not None] == ["Tofino 1", "Tofino 2"]


@pytest.mark.parametrize("op", [ADD, MAX])
def test_result_goes_to_all_members(switch: TofinoSwitch, op: int) -> None:
    words = [(0xFFFF_FFFF, 5), (2, 0x8000_0000), (3, 0x8000_0000)]
    if op == MAX:
        first = switch.process(1, frame(0, 9, words[0]))  # write: MAX does not begin a sum here
        assert first == []
    for bit, value in list(enumerate(words))[op == MAX : -1]:
        assert switch.process(bit + 1, frame(bit, 9, value, op)) == []
    out = switch.process(3, frame(2, 9, words[2], op, rest=b"tail"))
    total = (4, 5) if op == ADD else (0xFFFF_FFFF, 0x8000_0000)
    expected = frame(2, 9, total, op, rest=b"tail")
    assert out == [PacketOut(port, address(port).to_bytes(6, "big") + expected[6:]) for port in (1, 2, 3)]


def test_duplicates_count_once(switch: TofinoSwitch) -> None:
    switch.process(1, frame(0, 3, (10, 20)))
    for _ in range(3):
        assert switch.process(1, frame(0, 3, (10, 20))) == []
    switch.process(2, frame(1, 3, (1, 2)))
    (first, *_) = switch.process(3, frame(2, 3, (100, 200)))
    assert first.frame[18:] == (111).to_bytes(4, "big") + (222).to_bytes(4, "big")


def test_random_sums(switch: TofinoSwitch) -> None:
    rng = random.Random(1)
    for slot in range(40):
        words = [(rng.getrandbits(32), rng.getrandbits(32)) for _ in range(MEMBERS)]
        order = rng.sample(range(MEMBERS), MEMBERS)
        outs = [switch.process(bit + 1, frame(bit, slot, words[bit])) for bit in order]
        assert [len(out) for out in outs] == [0, 0, MEMBERS]
        total = [sum(column) & 0xFFFF_FFFF for column in zip(*words, strict=True)]
        assert outs[-1][0].frame[18:] == b"".join(word.to_bytes(4, "big") for word in total)


def test_packets_of_non_members_or_truncated_are_dropped(switch: TofinoSwitch) -> None:
    assert switch.process(1, frame(1, 0, (1, 1))) == []  # member 1 is at port 2
    assert switch.process(1, frame(0, 0, (1, 1))[:-1]) == []
    assert switch.counts.parser_errors == 1
    assert switch.read_register("Ingress.slots.bitmap", 0) == 0


def test_other_packets_are_forwarded(switch: TofinoSwitch) -> None:
    table = switch.tables["Ingress.forward"]
    table.insert(TableEntry((Match(int.from_bytes(DESTINATION, "big")),), ActionCall("Ingress.to", (9,))))
    packet = DESTINATION + SOURCE + bytes.fromhex("0800") + b"anything"
    assert switch.process(1, packet) == [PacketOut(9, packet)]
    assert switch.process(1, SOURCE + packet[6:]) == []


def test_registers_begin_with_their_initial_value(switch: TofinoSwitch) -> None:
    assert switch.read_register("Ingress.slots.count", 255) == 1
    assert switch.read_register("Ingress.slots.bitmap", 255) == 0


def test_pipes_share_tables_but_no_registers(switch: TofinoSwitch) -> None:
    switch.tables["Ingress.member"].insert(
        TableEntry((Match(128 + 1), Match(0)), ActionCall("Ingress.admit", (1, MEMBERS, GROUP)))
    )
    switch.process(1, frame(0, 5, (1, 2)))
    assert switch.read_register("Ingress.lane0.cells", 5) == 1
    assert switch.read_register("Ingress.lane0.cells", 5, pipe=1) == 0
    switch.process(129, frame(0, 5, (7, 8)))
    assert switch.read_register("Ingress.lane0.cells", 5) == 1
    assert switch.read_register("Ingress.lane0.cells", 5, pipe=1) == 7
    assert switch.read_register("Ingress.slots.count", 6, pipe=1) == 1


def test_direct_counter_counts_where_the_action_says_so(switch: TofinoSwitch) -> None:
    member = switch.tables["Ingress.member"]
    packet = frame(0, 1, (1, 2))
    switch.process(1, packet)
    switch.process(1, packet)
    switch.process(5, packet)  # misses: the default action does not count
    counter = member.get((Match(1), Match(0)), 0).counter
    assert counter is not None and (counter.packets, counter.bytes) == (2, 2 * len(packet))
    missed = member.default.counter
    assert missed is not None and missed.packets == 0


def test_loading_again_starts_afresh(switch: TofinoSwitch) -> None:
    switch.process(1, frame(0, 5, (1, 2)))
    switch.load(printed("sum").encode())
    assert switch.read_register("Ingress.lane0.cells", 5) == 0
    assert switch.tables["Ingress.member"].entries() == []
    assert switch.process(1, frame(0, 5, (1, 2))) == []
