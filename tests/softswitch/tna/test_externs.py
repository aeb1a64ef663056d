# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Hashes, checksums, meters, counters, mirror, resubmit, digest, recirculation, bypass, replication."""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, replace

import pytest

from lanesum_fabric.tofino.chips import TOFINO_1
from lanesum_switch.api import (
    ActionCall,
    CloneSession,
    CounterValue,
    Digest,
    InvalidArgumentError,
    Match,
    MeterRates,
    PacketOut,
    Replica,
    TableEntry,
    UnsupportedProgramError,
)
from lanesum_switch.runtime.hashes import CRC16, Crc
from lanesum_switch.tna.load import load_text as translate
from lanesum_switch.tna.parsers import prefixes
from lanesum_switch.tna.switch import TofinoSwitch

from .conftest import Load, load_text, printed

PLAIN, HASH, MIRROR, RESUBMIT, DIGEST, METER, BYPASS, MIRROR_EGRESS, RANDOM, FROM_PORT = range(10)
PORT = 9


@dataclass(frozen=True)
class Command:
    """Fields of ``command_t`` without the checksum, and the rest of the packet."""

    op: int = PLAIN
    small: int = 0
    port: int = PORT
    value: int = 0
    crc16: int = 0
    crc32: int = 0
    crc32c: int = 0
    passes: int = 0
    rest: bytes = b"\0payload"

    def pack(self, checksum: int | None = None) -> bytes:
        """Return the packet; ``checksum`` None: the correct one."""
        head = bytes([self.op, self.small]) + self.port.to_bytes(2, "big") + self.value.to_bytes(4, "big")
        tail = self.crc16.to_bytes(2, "big") + self.crc32.to_bytes(4, "big") + self.crc32c.to_bytes(4, "big")
        tail += self.passes.to_bytes(2, "big")
        if checksum is None:
            words = int.from_bytes(head + b"\0\0" + tail, "big")
            checksum = 0xFFFF - words % 0xFFFF or 0xFFFF
        return head + checksum.to_bytes(2, "big") + tail + self.rest

    def once(self, **changes: int) -> Command:
        """Return the result of one pass."""
        return replace(self, passes=self.passes + 1, **changes)  # type: ignore[arg-type]


@pytest.fixture
def switch(load: Load) -> TofinoSwitch:
    return load("externs")


def test_checksum_is_updated_from_parser_residual(switch: TofinoSwitch) -> None:
    rng = random.Random(2)
    for _ in range(50):
        command = Command(small=rng.getrandbits(8), value=rng.getrandbits(32), passes=rng.getrandbits(8))
        (out,) = switch.process(1, command.pack())
        assert out == PacketOut(PORT, command.once().pack())


def test_residual_leaves_out_what_is_extracted_later(switch: TofinoSwitch) -> None:
    # The deparser's list omits the option: the checksum is correct without it, and incomplete with it.
    command = Command(MIRROR_EGRESS, rest=b"\x40\x07tail")
    (out,) = switch.process(1, command.pack())
    found, right = (int.from_bytes(frame[8:10], "big") for frame in (out.frame, command.once().pack()))
    assert (found - right) % 0xFFFF == 0x4007
    assert out.frame[10:] == command.once().pack()[10:]


def test_port_metadata_and_lookahead_into_a_header(switch: TofinoSwitch) -> None:
    command = Command(FROM_PORT, small=3, rest=b"\x40\x7e")
    assert switch.process(1, command.pack())[0].frame[1:8:6] == b"\x00\x7e"
    switch.set_port_metadata(1, b"\xa5")
    assert switch.process(1, command.pack())[0].frame[1:8:6] == b"\xa5\x7e"
    assert switch.process(2, command.pack())[0].frame[1] == 0
    with pytest.raises(InvalidArgumentError, match="8 bytes of metadata"):
        switch.set_port_metadata(1, bytes(9))


def test_wrong_checksum_is_seen_by_verify(switch: TofinoSwitch) -> None:
    good = Command(value=5).pack()
    assert len(switch.process(1, good)) == 1
    wrong = bytearray(good)
    wrong[7] ^= 1
    assert switch.process(1, bytes(wrong)) == []


def test_hashes(switch: TofinoSwitch) -> None:
    command = Command(HASH, small=0x5A, value=0x01020304)
    (out,) = switch.process(1, command.pack())
    value = bytes([1, 2, 3, 4])
    assert zlib.crc32(value + b"\0\x09") == Crc(32, 0x04C11DB7, True, 0xFFFFFFFF, 0xFFFFFFFF)(value + b"\0\x09")
    expected = command.once(
        crc16=CRC16(value + b"\x5a"),
        crc32=zlib.crc32(value + PORT.to_bytes(2, "big")),
        crc32c=Crc(32, 0x1EDC6F41, True, 0xFFFFFFFF, 0xFFFFFFFF)(value),
    )
    assert out.frame == expected.pack()


def test_ingress_mirror_copies_the_packet_as_it_came(switch: TofinoSwitch) -> None:
    packet = Command(MIRROR).pack()
    assert [out.port for out in switch.process(1, packet)] == [PORT]  # no session yet
    switch.set_clone_session(5, CloneSession((Replica(20, 1), Replica(21, 2))))
    mirrored = sorted(switch.process(1, packet))
    assert [out.port for out in mirrored] == [PORT, 20, 21]
    # The egress parser removes the mirror's header and no other.
    assert mirrored[1].frame == packet and mirrored[2].frame == packet
    switch.set_clone_session(5, CloneSession((Replica(20, 1),), packet_length_bytes=12))
    # The truncated length includes the two bytes of the mirror's header.
    assert sorted(switch.process(1, packet))[1].frame == packet[:10]


def test_egress_mirror_copies_the_packet_as_it_leaves(switch: TofinoSwitch) -> None:
    switch.set_clone_session(6, CloneSession((Replica(22, 1),)))
    command = Command(MIRROR_EGRESS)
    out = sorted(switch.process(1, command.pack()))
    assert out == [PacketOut(PORT, command.once().pack()), PacketOut(22, command.once().pack())]


def test_resubmitted_packet_comes_again_with_its_data(switch: TofinoSwitch) -> None:
    command = Command(RESUBMIT, passes=6)
    (out,) = switch.process(1, command.pack())
    assert out.frame == command.once().pack()
    counter = switch.counters["Ingress.ops"].read(RESUBMIT)
    assert counter == CounterValue(2, 2 * len(command.pack()))


def test_digest(switch: TofinoSwitch) -> None:
    seen: list[Digest] = []
    switch.on_digest(seen.append)
    switch.process(1, Command(DIGEST, small=7, value=0xDEADBEEF).pack())
    assert seen == [Digest("IngressDeparser.digest", (7, 0xDEADBEEF))]
    assert switch.digests == {"IngressDeparser.digest": (8, 32)}


def test_meter_gives_the_architectures_colors(load: Load) -> None:
    switch = load("externs", clock=lambda: 0)
    switch.meters["Ingress.meter"].write(1, MeterRates(1, 1, 1, 2))
    packet = Command(METER).pack()
    colors = [switch.process(1, packet)[0].frame[1] for _ in range(4)]
    assert colors == [0, 1, 3, 3]  # GREEN, YELLOW, RED


def test_meter_of_bytes_counts_no_packets() -> None:
    text = printed("externs").replace("MeterType_t.PACKETS) meter_0", "MeterType_t.BYTES) meter_0")
    switch = load_text(text, clock=lambda: 0)
    switch.meters["Ingress.meter"].write(1, MeterRates(1, 1, 1, 1000))
    assert switch.process(1, Command(METER).pack())[0].frame[1] == 1  # YELLOW: longer than 1 byte


def test_random_and_identity(switch: TofinoSwitch) -> None:
    packet = Command(RANDOM, port=0x17, value=0xAAAA_0000).pack()
    values = [int.from_bytes(switch.process(1, packet)[0].frame[4:8], "big") for _ in range(50)]
    assert {value >> 8 for value in values} == {0xAAAA17}
    assert len({value & 0xFF for value in values}) > 20


def test_bypass_range_and_prefix(switch: TofinoSwitch) -> None:
    ranges, tree = switch.tables["Ingress.ranges"], switch.tables["Ingress.prefixes"]
    ranges.insert(TableEntry((Match(10, 20),), ActionCall("Ingress.between", (0x11,)), priority=1))
    ranges.insert(TableEntry((Match(20, 30),), ActionCall("Ingress.between", (0x22,)), priority=2))
    tree.insert(TableEntry((Match(0x0A000000, 8),), ActionCall("Ingress.hop", (1,))))
    tree.insert(TableEntry((Match(0x0A0B0000, 16),), ActionCall("Ingress.hop", (2,))))
    found = {}
    for small, value in ((9, 0x0A000000), (10, 0x0A0B0000), (20, 0x0B000000), (31, 0x0A0B0C0D)):
        (out,) = switch.process(1, Command(BYPASS, small=small, value=value).pack())
        found[small] = out.frame[4:6].hex()
    # The value's two low bytes stay; egress, which would remove a header, was bypassed.
    assert found == {9: "0001", 10: "1102", 20: "22ff", 31: "0002"}


def test_lookahead_and_ranges_choose_the_parser_state(switch: TofinoSwitch) -> None:
    # 0x40 to 0x7f after the command makes two bytes an option header, which the deparser emits.
    for op in (PLAIN, MIRROR_EGRESS, RANDOM, 10):
        for rest in (b"\x40x", b"\x80x", b"\x40"):
            taken = 1 <= op <= 9 and rest[0] == 0x40
            out = switch.process(1, Command(op, rest=rest).pack())
            assert len(out) == (0 if taken and len(rest) < 2 else 1)
    assert switch.process(1, Command(rest=b"").pack()) == []  # no bytes for the lookahead


def test_recirculation_port_sends_packets_back_in(load: Load) -> None:
    port = TOFINO_1.recirculation_port
    command = Command(port=port)
    # The port stays the same in this program: the packet returns until the switch stops.
    switch = load("externs", max_passes=5)
    assert switch.process(1, command.pack()) == []
    assert switch.counts.pass_drops == 1
    assert switch.counters["Ingress.ops"].read(PLAIN).packets == 6
    plain = load("externs", recirculation_ports=(70,))
    assert plain.process(1, command.pack()) == [PacketOut(port, command.once().pack())]
    assert plain.process(1, Command(port=70).pack()) == []
    assert switch.recirculation_ports == {68, 196, 324, 452}


def test_queue_depth_reaches_egress(load: Load) -> None:
    switch = load("externs", queue_depth=lambda port: 101 if port == PORT else 0)
    assert switch.process(1, Command(small=1).pack())[0].frame[1] == 0xEE
    assert switch.process(1, Command(small=1, port=PORT + 1).pack())[0].frame[1] == 1


def test_prefixes_cover_exactly_the_range() -> None:
    rng = random.Random(3)
    for _ in range(200):
        low, high = sorted((rng.randrange(64), rng.randrange(64)))
        pairs = prefixes(low, high, 6)
        matched = [n for n in range(64) for value, mask in pairs if n & mask == value]
        assert matched == sorted(set(matched)) and sorted(matched) == list(range(low, high + 1))


TAG = "hdr.bridge.tag = 8w1;"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("HashAlgorithm_t.CRC16", "HashAlgorithm_t.XOR16", r"Unsupported: hash algorithm XOR16 of Ingress\.crc16"),
        ("true, false, false, 32w", "true, false, true, 32w", r"polynomial Ingress\.castagnoli in this form"),
        (
            "Random<bit<8>>() random_0",
            "MathUnit<bit<8>>() random_0",
            r"Unsupported: extern MathUnit \(Ingress\.random\) in line \d+",
        ),
        ("ops_0.count(", "ops_0.read(", r"Unsupported: method read of Counter Ingress\.ops in line \d+"),
        ("32w256, CounterType_t", "SIZE, CounterType_t", r"the size of Ingress\.ops is no number"),
        (
            "for_tm.bypass_egress = 1w1",
            "for_tm.level2_exclusion_id = 9w1",
            "Unsupported: writing level2_exclusion_id: no P4Runtime",
        ),
        ("MeterType_t.PACKETS)", "MeterType_t.PACKETS, 8w1, 8w2, 8w3)", r"meter Ingress\.meter with colors of its own"),
        (
            "small: range",
            "small: atcam_partition_index",
            r"Unsupported: match kind atcam_partition_index in table Ingress\.ranges",
        ),
        (
            "        size = 16;",
            "        implementation = md.color;",
            r"Unsupported: property implementation of table Ingress\.prefixes",
        ),
        ("hop(8w0xff)", "jump(8w0xff)", r"jump as an action \(Ingress\.prefixes_0\.keys"),
        ("hop(8w0xff)", "hop(md.color)", r"a number that is no constant \(Ingress\.prefixes_0\.keys"),
        ("ranges_0.apply();", "ranges_0.apply(); ranges_0.apply();", r"table Ingress\.ranges is applied at two places"),
        ("ranges_0.apply();", "switch (md.color) { 8w1: { } }", "a switch over numbers in Ingress; TNA has none"),
        (
            '@name("number") bit<8> number)',
            "option_t number)",
            r"parameter number of action Ingress\.between is no num",
        ),
        (TAG, "hdr.bridge.tag = ~5;", "'~' of something without width"),
        (TAG, "hdr.bridge.tag = (bit<8>)(true | false);", r"'\|' of truth values"),
        (TAG, "hdr.bridge.tag = 5 ++ 4w1;", "a number without width where its width matters"),
        ("    bit<8> kind;", "    port_t kind;", "field kind of header option_t is of type port_t"),
        ("    bit<8> kind;", "    bit<7> kind;", "header option_t is not a whole number of bytes"),
        ("    bit<8>     ahead;", "    hop_t ahead;", r"Unsupported: variable md\.ahead of type hop_t"),
        (
            "    bit<8>     ahead;",
            "    bit<8>[2] ahead;",
            r"Unsupported: array md\.ahead of something that is no header",
        ),
        ('arch="TNA"', 'arch="PSA"', "architecture 'PSA'; this switch runs TNA and T2NA.*Print the program with"),
        ("(pipe) main", "(pipe, pipe) main", "a program whose main is not Switch with one pipeline"),
        (">(IngressParser(), ", ">(", "a pipeline that is not Pipeline of six blocks"),
        ("unused = 48w0", "unused = 48w0 ++ 8w0", "9 bytes to resubmit, Tofino 1 has 8"),
    ],
)
def test_load_unsupported_construct_is_refused_by_name(old: str, new: str, message: str) -> None:
    text = printed("externs")
    assert old in text
    with pytest.raises(UnsupportedProgramError, match=message):
        translate(text.replace(old, new).encode())


def test_load_table_of_both_halves_is_refused() -> None:
    before = "apply {\n        if (hdr.bridge.isValid())"
    text = printed("externs")
    assert before in text
    table = '@name("Ingress.ranges") table other { key = { hdr.bridge.tag: exact; } actions = { } } '
    with pytest.raises(InvalidArgumentError, match=r"Ingress and egress both have the table Ingress\.ranges"):
        load_text(text.replace(before, before.replace("apply {", table + "apply { other.apply();")))


@pytest.mark.parametrize("damage", ["apply {", "    }\n}\n", "state start", ";"])
def test_text_that_is_no_program_is_refused(damage: str) -> None:
    text = printed("externs")
    position = text.index(damage, text.index("parser IngressParser"))
    with pytest.raises(InvalidArgumentError, match=r"Line \d+ of the program"):
        load_text(text[:position] + text[position + len(damage) :])


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="The pipeline is not text: it is no simplified P4"):
        TofinoSwitch().load(b"\xff\xfe")
