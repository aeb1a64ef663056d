# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packing and unpacking: single headers, packets and batches."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanesum.protocol import ChunkBatch, Flag, Header, LaneOp, Packet, PacketError, spec

headers = st.builds(Header, **{field.name: st.integers(0, (1 << field.bits) - 1) for field in spec.HEADER})
words = st.lists(st.integers(0, (1 << 32) - 1), max_size=40).map(lambda values: np.array(values, np.uint32))


@given(header=headers)
def test_header_pack_and_unpack_are_inverse(header: Header) -> None:
    data = header.pack()
    assert len(data) == spec.HEADER_BYTES == 32
    assert Header.unpack(data) == header
    assert Header.unpack(memoryview(data + b"more")) == header


@given(header=headers)
def test_header_bits_are_those_of_the_specification(header: Header) -> None:
    """A header is one number: field after field, most significant bit first."""
    number = 0
    for field in spec.HEADER:
        number = number << field.bits | getattr(header, field.name)
    assert header.pack() == number.to_bytes(32, "big")


@given(data=st.binary(min_size=32, max_size=32))
def test_unpack_accepts_any_32_bytes(data: bytes) -> None:
    assert Header.unpack(data).pack() == data


@pytest.mark.parametrize("field", spec.HEADER, ids=lambda field: field.name)
def test_pack_value_beyond_its_field_raises(field: spec.HeaderField) -> None:
    for value in (1 << field.bits, -1):
        with pytest.raises(PacketError, match=rf"{field.name} = {value} does not fit {field.bits} bits"):
            Header(**{field.name: value}).pack()


@pytest.mark.parametrize("size", [0, 1, 31])
def test_unpack_short_header_raises(size: int) -> None:
    with pytest.raises(PacketError, match=f"{size} bytes is shorter than the 32-byte header"):
        Header.unpack(bytes(size))


@given(header=headers, payload=words)
def test_packet_pack_and_unpack_are_inverse(header: Header, payload: np.ndarray) -> None:
    header.version = spec.VERSION
    data = Packet(header, payload).pack()
    packet = Packet.unpack(data)
    assert packet.header == header and packet.header.words == len(payload)
    assert (packet.payload == payload).all() and packet.payload.dtype == np.uint32
    assert data[32:] == b"".join(int(word).to_bytes(4, "big") for word in payload)


def test_unpack_packet_of_wrong_length_raises() -> None:
    data = Packet(Header(), np.arange(3, dtype=np.uint32)).pack()
    for wrong in (data[:-1], data + b"\0", data[:32]):
        with pytest.raises(PacketError, match=f"{len(wrong)} bytes, but its header announces 3 words"):
            Packet.unpack(wrong)


@pytest.mark.parametrize("version", [0, 1, 15])
def test_unpack_packet_of_other_version_raises(version: int) -> None:
    data = Packet(Header(version=version), np.zeros(1, np.uint32)).pack()
    with pytest.raises(PacketError, match=f"version {version}; this host uses version {spec.VERSION}"):
        Packet.unpack(data)


@given(
    chunks=st.integers(1, 40),
    position=st.integers(0, 1000),
    slots=st.integers(1, 17),
    seed=st.integers(0, 99),
)
def test_batch_slots_follow_positions(chunks: int, position: int, slots: int, seed: int) -> None:
    """Slot = position mod slots, shadow set = position div slots mod 2, one packet per chunk."""
    payload = np.random.default_rng(seed).integers(0, 1 << 32, (chunks, 8), dtype=np.uint32)
    header = Header(job=3, tag=4, epoch=5, op=LaneOp.EXPAND8, workers=2, fan_in_workers=6)
    batch = ChunkBatch(header, payload, position=position, slots=slots)
    assert len(batch) == chunks
    for chunk in range(chunks):
        packet = Packet.unpack(batch.packet(chunk))
        at = position + chunk
        expected = {**asdict(header), "chunk": chunk, "slot": at % slots, "shadow": at // slots % 2, "words": 8}
        assert asdict(packet.header) == expected
        assert (packet.payload == payload[chunk]).all()


def test_batch_chunks_of_a_window_share_no_entry() -> None:
    """Any 2 x slots consecutive positions use 2 x slots different entries."""
    for position in (0, 3, 5, 11):
        batch = ChunkBatch(Header(), np.zeros((10, 1), np.uint32), position=position, slots=5)
        unpacked = [Header.unpack(batch.packet(chunk)) for chunk in range(10)]
        assert len({(header.slot, header.shadow) for header in unpacked}) == 10


def test_set_flags_changes_one_packet() -> None:
    batch = ChunkBatch(Header(), np.zeros((3, 1), np.uint32), position=0, slots=4)
    batch.set_flags(1, Flag.RETRANSMISSION | Flag.BYPASS)
    assert [Header.unpack(batch.packet(chunk)).flags for chunk in range(3)] == [0, Flag.RETRANSMISSION | Flag.BYPASS, 0]
    batch.set_flags(1, Flag.RETRANSMISSION)
    assert [Header.unpack(batch.packet(chunk)).flags for chunk in range(3)] == [0, Flag.RETRANSMISSION, 0]


def test_last_copies_the_last_packets() -> None:
    """A copy lets the memory of the whole round be freed."""
    batch = ChunkBatch(Header(), np.arange(8, dtype=np.uint32).reshape(4, 2), position=3, slots=4)
    last = batch.last(2)
    assert [bytes(last.packet(one)) for one in range(len(last))] == [bytes(batch.packet(two)) for two in (2, 3)]
    last.set_flags(0, Flag.RETRANSMISSION)
    assert Header.unpack(batch.packet(2)).flags == 0


def test_lane_shapes_are_consistent() -> None:
    """A group has as many lanes as codes, and lanes fill the accumulator words."""
    for shape in (op.shape for op in LaneOp):
        assert not shape.lookup or shape.code_bits == 4  # a code table has 16 entries
        lanes = shape.lanes_per_accumulator_word
        assert lanes * shape.lane_bits == 32
        assert lanes * shape.accumulator_words_per_group == shape.codes_per_group
        assert shape.codes_per_group * shape.code_bits == shape.uplink_words_per_group * 32
        for accumulator_words in spec.BUILT_ACCUMULATOR_WORDS:
            uplink = shape.uplink_words(accumulator_words)
            assert shape.fills(accumulator_words)
            assert shape.accumulator_words(uplink) == accumulator_words
