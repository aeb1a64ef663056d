# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Lane operations on registers at one index, with and without the vectorizer.

worker 0 ---+
worker 1 ---+ switch (16 words, 1024 slots) --- multicast to all four ports
worker 2 ---+
worker 3 ---+
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanesum_switch.api import ActionCall, Match, PacketOut, Replica, TableEntry
from lanesum_switch.dataplane import EmbeddedSwitch
from tests.softswitch.conftest import PROGRAMS

WORDS = 16


WORKERS = 4


MASK = 0xFFFFFFFF


NAMES = [f"I.r{row}{column}" for row in (1, 2) for column in range(8)]


OPERATIONS: dict[int, Callable[[int, int], tuple[int, int]]] = {
    # op -> (header word, register word) from (header word, register word)
    0: lambda w, r: ((w + r) & MASK,) * 2,
    1: lambda w, r: (w | r,) * 2,
    2: lambda w, r: ((~(w & r) ^ 0x00FF00FF) & MASK, w & r),
    3: lambda w, r: (max(w, r),) * 2,
    4: lambda w, r: (min(w, r),) * 2,
    5: lambda w, r: ((r - w) & MASK,) * 2,
    7: lambda w, r: (r, r),
    8: lambda w, r: (w >> 4 & 0x0F0F0F0F, r),
}


def frame(op: int, worker: int, slot: int, words: list[int]) -> bytes:
    """Return a contribution."""
    header = bytes(12) + b"\x88\xb5" + struct.pack(">BBBBI", op, worker, 1, 0, slot)
    return header + struct.pack(f">{WORDS}I", *words)


def words_of(data: bytes) -> list[int]:
    """Return the words of a frame."""
    return list(struct.unpack_from(f">{WORDS}I", data, 22))


def switch_with_workers(vectorize: bool) -> EmbeddedSwitch:
    """Return a switch with a job of four workers."""
    switch = EmbeddedSwitch(vectorize=vectorize)
    switch.load((PROGRAMS / "lanes.json").read_bytes())
    for worker in range(WORKERS):
        match = (Match(worker), Match(1), Match(worker))
        switch.tables["I.member"].insert(TableEntry(match, ActionCall("I.admit", (9, WORKERS))))
        switch.tables["E.receiver"].insert(TableEntry((Match(worker),), ActionCall("E.address", (worker + 1,))))
    switch.set_multicast_group(9, [Replica(port, port) for port in range(WORKERS)])
    return switch


@pytest.mark.parametrize("vectorize", [False, True])
def test_sum_of_last_worker_is_multicast(vectorize: bool) -> None:
    switch = switch_with_workers(vectorize)
    for worker in range(WORKERS - 1):
        assert switch.process(worker, frame(0, worker, 5, [worker + 1] * WORDS)) == []
    out = switch.process(3, frame(0, 3, 5, [MASK] * WORDS))
    assert [item.port for item in out] == [0, 1, 2, 3]
    for item in out:
        assert item.frame[:6] == (item.port + 1).to_bytes(6, "big")
        assert words_of(item.frame) == [5] * WORDS  # 1 + 2 + 3 - 1: addition wraps
    assert switch.read_register("I.r10", 5) == 5
    assert switch.counts.packets_out == 4
    assert switch.counts.dropped == 3


@pytest.mark.parametrize("vectorize", [False, True])
def test_packet_of_non_member_changes_no_register(vectorize: bool) -> None:
    switch = switch_with_workers(vectorize)
    assert switch.process(1, frame(0, 0, 5, [7] * WORDS)) == []
    assert switch.read_register("I.r10", 5) == 0


@pytest.mark.parametrize("vectorize", [False, True])
def test_register_index_out_of_range_is_counted(vectorize: bool) -> None:
    switch = switch_with_workers(vectorize)
    assert switch.process(0, frame(0, 0, 1024, [7] * WORDS)) == []
    assert switch.counts.program_errors == 0
    assert switch.counts.range_errors > 0
    assert all(switch.read_register(name, 1023) == 0 for name in NAMES)


@pytest.mark.parametrize("vectorize", [False, True])
def test_short_packet_is_a_parser_error(vectorize: bool) -> None:
    switch = switch_with_workers(vectorize)
    switch.process(0, frame(0, 0, 5, [7] * WORDS)[:-1])
    assert switch.counts.parser_errors == 1
    assert switch.counts.program_errors == 0


@pytest.mark.long
@pytest.mark.parametrize("vectorize", [False, True])
@settings(max_examples=40, deadline=None)
@given(
    op=st.sampled_from(sorted(OPERATIONS)),
    slot=st.integers(0, 1023),
    packets=st.lists(
        st.lists(st.integers(0, MASK) | st.sampled_from([0, 1, 1 << 31, MASK]), min_size=WORDS, max_size=WORDS),
        min_size=WORKERS,
        max_size=WORKERS,
    ),
)
def test_operations_equal_plain_python(vectorize: bool, op: int, slot: int, packets: list[list[int]]) -> None:
    switch = switch_with_workers(vectorize)
    stored = [0] * WORDS
    out: list[PacketOut] = []
    expected = [0] * WORDS
    for worker, words in enumerate(packets):
        out = switch.process(worker, frame(op, worker, slot, words))
        if worker == 0 and op not in (7, 8):
            stored, expected = list(words), list(words)
        else:
            pairs = [OPERATIONS[op](w, r) for w, r in zip(words, stored, strict=True)]
            expected, stored = [w for w, _ in pairs], [r for _, r in pairs]
    assert words_of(out[0].frame) == expected
    assert [switch.read_register(name, slot) for name in NAMES] == stored


@pytest.mark.parametrize("vectorize", [False, True])
def test_single_words_of_vectorized_registers_are_accessible(vectorize: bool) -> None:
    switch = switch_with_workers(vectorize)
    switch.write_register("I.r17", 0, 1)
    words = list(range(100, 100 + WORDS))
    for worker in range(WORKERS):
        out = switch.process(worker, frame(9, worker, 3, words))
    expected = list(words)
    expected[5] += expected[6]
    assert words_of(out[0].frame) == expected
    assert switch.read_register("I.r17", 0) == words[7]


def test_tables_are_writable_while_packets_run() -> None:
    switch = switch_with_workers(True)
    table = switch.tables["I.forwarding"]
    failures: list[Exception] = []

    def write() -> None:
        try:
            for i in range(300):
                table.insert(TableEntry((Match(i),), ActionCall("I.forward", (3,))))
                if i % 2:
                    table.delete((Match(i),), 0)
        except Exception as error:
            failures.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    packets = 0
    while writer.is_alive() or packets < 100:
        switch.process(9, (packets % 300).to_bytes(6, "big") + bytes(20))
        packets += 1
    writer.join()
    assert not failures
    assert switch.counts.program_errors == 0
    assert switch.process(9, (0).to_bytes(6, "big") + bytes(20))[0].port == 3
    assert switch.process(9, (1).to_bytes(6, "big") + bytes(20)) == []
    assert len(table.entries()) == 150
