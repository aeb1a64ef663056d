# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Results of the lane registers, compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from lanesum.protocol import LaneOp

from .oracle import CODE_TABLE, aggregate, uplink_words
from .star import ALL_OPS, Place, Star

table8 = pytest.mark.offered(LaneOp.TABLE8)


def complete(star: Star, op: LaneOp, contributions: list[np.ndarray], code_table: bytes = CODE_TABLE) -> None:
    """Send one contribution per worker; check the result and its replay against the oracle."""
    job = star.admit(len(contributions), code_table=code_table)
    place = Place(op=op)
    total = aggregate(op, contributions, code_table)
    for worker, words in enumerate(contributions[:-1]):
        assert star.contribute(job, worker, words, place) == []
    last = len(contributions) - 1
    assert star.contribute(job, last, contributions[-1], place) == job.result(total, place)
    assert star.contribute(job, 0, contributions[0], place) == job.replay(0, total, place)
    star.remove(job)


@pytest.mark.parametrize("op", ALL_OPS, ids=lambda op: op.name)
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_sum_of_random_words_is_exact(star: Star, op: LaneOp, workers: int) -> None:
    job = star.admit(workers)
    contributions = job.words(100 + op, op)
    star.remove(job)
    complete(star, op, contributions)


def filled(star: Star, op: LaneOp, *values: int) -> list[np.ndarray]:
    """Send one contribution per value, with the value in every word."""
    size = uplink_words(op, star.accumulator_words)
    return [np.full(size, value, np.uint32) for value in values]


@pytest.mark.parametrize(
    "values",
    [
        (0xFFFFFFFF, 1),
        (0x7FFFFFFF, 1),
        (0x80000000, 0x80000000),
        (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF),
    ],
    ids=lambda values: "+".join(f"{value:x}" for value in values),
)
def test_add32_wraps(star: Star, values: tuple[int, ...]) -> None:
    """It never saturates, signed or unsigned: 32-bit two's complement."""
    contributions = filled(star, LaneOp.ADD32, *values)
    assert aggregate(LaneOp.ADD32, contributions)[0] == sum(values) % (1 << 32)
    complete(star, LaneOp.ADD32, contributions)


def test_every_word_has_its_own_register(star: Star) -> None:
    """Word i holds i: swapped registers are visible."""
    ramp = np.arange(star.accumulator_words, dtype=np.uint32)
    complete(star, LaneOp.ADD32, [ramp, ramp * 1000])


def test_expand8_keeps_coordinates_in_order(star: Star) -> None:
    """Low nibbles make the even accumulator word, high nibbles the odd one, byte by byte."""
    contributions = filled(star, LaneOp.EXPAND8, 0x12345678, 0x11111111)
    total = aggregate(LaneOp.EXPAND8, contributions)
    assert [hex(word) for word in total[:2]] == ["0x3050709", "0x2040608"]
    complete(star, LaneOp.EXPAND8, contributions)


def test_expand8_fills_its_lanes_at_seventeen_workers(star: Star) -> None:
    """17 x 15 = 255: the largest value of an 8-bit lane."""
    contributions = filled(star, LaneOp.EXPAND8, *[0xFFFFFFFF] * 17)
    assert aggregate(LaneOp.EXPAND8, contributions)[0] == 0xFFFFFFFF
    complete(star, LaneOp.EXPAND8, contributions)


@pytest.mark.parametrize(
    ("op", "sent", "wide"),
    [
        (LaneOp.EXPAND16, [0x7531ECA8], [0x00010008, 0x0003000A, 0x0005000C, 0x0007000E]),
        (LaneOp.EXPAND8TO16, [0xAABBCCDD], [0x00BB00DD, 0x00AA00CC]),
        (LaneOp.EXPAND3TO8, [0x01000080, 0x01000000, 0x00000080], [0x03000000, 0, 0, 0, 0, 0, 0, 5]),
        (LaneOp.EXPAND5TO8, [1 << 31, 0, 1 << 31, 1, 1 << 31 | 1], [0x18, 0, 0, 0, 0, 0, 0, 0x15000000]),
    ],
    ids=lambda value: value.name if isinstance(value, LaneOp) else "",
)
def test_widening_of_worked_examples(star: Star, op: LaneOp, sent: list[int], wide: list[int]) -> None:
    """Worked examples: the first group of a packet, and the last one."""
    words = np.zeros(uplink_words(op, star.accumulator_words), np.uint32)
    words[: len(sent)] = words[-len(sent) :] = sent
    total = aggregate(op, [words])
    assert total[: len(wide)].tolist() == total[-len(wide) :].tolist() == wide
    complete(star, op, [words])


@pytest.mark.parametrize(("op", "workers"), [(LaneOp.EXPAND3TO8, 32), (LaneOp.EXPAND5TO8, 8), (LaneOp.EXPAND8TO16, 32)])
def test_largest_codes_of_many_workers_do_not_carry(star: Star, op: LaneOp, workers: int) -> None:
    """The largest codes of the largest number of workers."""
    complete(star, op, filled(star, op, *[0xFFFFFFFF] * workers))


@table8
def test_table8_looks_every_code_up(star: Star) -> None:
    """All 16 codes in all eight nibbles."""
    codes = [sum((code + nibble) % 16 << 4 * nibble for nibble in range(8)) for code in range(16)]
    words = np.resize(np.array(codes, np.uint32), uplink_words(LaneOp.TABLE8, star.accumulator_words))
    complete(star, LaneOp.TABLE8, [words, words[::-1].copy()])


@table8
def test_table8_uses_the_table_of_the_job(star: Star) -> None:
    tables = (bytes(range(16)), bytes(range(15, -1, -1)))
    jobs = [star.admit([2 * i], slot_base=4 * i, code_table=table) for i, table in enumerate(tables)]
    words = filled(star, LaneOp.TABLE8, 0x76543210)
    place = Place(op=LaneOp.TABLE8)
    results = [star.contribute(job, 0, words[0], place) for job in jobs]
    for job, table, result in zip(jobs, tables, results, strict=True):
        assert result == job.result(aggregate(LaneOp.TABLE8, words, table), place)
    assert results[0][0][1][74:] != results[1][0][1][74:]


@table8
def test_table8_without_a_table_adds_zero(star: Star) -> None:
    job = star.admit(1, code_table=None)
    words = filled(star, LaneOp.TABLE8, 0x76543210)
    place = Place(op=LaneOp.TABLE8)
    zeros = np.zeros(star.accumulator_words, np.uint32)
    assert star.contribute(job, 0, words[0], place) == job.result(zeros, place)


@table8
def test_table8_replay_reads_the_registers(star: Star) -> None:
    """A replay must not look the duplicate's codes up again."""
    job = star.admit(2)
    words = job.words(1, LaneOp.TABLE8)
    place = Place(op=LaneOp.TABLE8)
    total = aggregate(LaneOp.TABLE8, words)
    star.contribute(job, 0, words[0], place)
    star.contribute(job, 1, words[1], place)
    assert star.contribute(job, 1, words[0], place) == job.replay(1, total, place)
    assert star.contribute(job, 0, words[1], place) == job.replay(0, total, place)


def test_add8x4_fills_its_lanes(star: Star) -> None:
    complete(star, LaneOp.ADD8X4, filled(star, LaneOp.ADD8X4, 0x00010203, 0xFFFEFDFC))


def test_or_collects_bits(star: Star) -> None:
    contributions = filled(star, LaneOp.OR, 0x00000001, 0x80000000, 0x00000001)
    assert aggregate(LaneOp.OR, contributions)[0] == 0x80000001
    complete(star, LaneOp.OR, contributions)


def test_max_orders_non_negative_floats(star: Star) -> None:
    """IEEE bits of non-negative floats are ordered as unsigned integers."""
    rng = np.random.default_rng(3)
    floats = [np.abs(rng.normal(size=star.accumulator_words)).astype(np.float32) for _ in range(3)]
    contributions = [values.view(np.uint32) for values in floats]
    total = aggregate(LaneOp.MAX, contributions)
    assert (total.view(np.float32) == np.maximum.reduce(floats)).all()
    complete(star, LaneOp.MAX, contributions)


def test_max_is_unsigned(star: Star) -> None:
    contributions = filled(star, LaneOp.MAX, 0x80000000, 0x7FFFFFFF)
    assert aggregate(LaneOp.MAX, contributions)[0] == 0x80000000
    complete(star, LaneOp.MAX, contributions)


def test_operations_in_one_slot_do_not_mix(star: Star) -> None:
    """MAX, then TABLE8, then ADD32 and all others in the same entry."""
    job = star.admit(2)
    first = (LaneOp.MAX, LaneOp.TABLE8, LaneOp.ADD32)
    ops = [op for op in (*first, *(op for op in ALL_OPS if op is not LaneOp.TABLE8)) if op in star.target.ops]
    for epoch, op in enumerate(ops):
        place = Place(epoch, op=op)
        words = job.words(200 + epoch, op)
        assert star.contribute(job, 0, words[0], place) == []
        assert star.contribute(job, 1, words[1], place) == job.result(aggregate(op, words), place)
