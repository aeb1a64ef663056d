# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""UDP checksums: a damaged contribution changes no register, and receivers can verify every answer."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lanesum.protocol import LaneOp
from lanesum.protocol.spec import Flag
from lanesum_fabric.program.switch_job import Role
from lanesum_switch.frames import internet_checksum

from .oracle import Words, aggregate, uplink_words
from .star import SERVER, Job, Place, Star, rack, routed

IPV4, UDP, LANESUM, PAYLOAD = 14, 34, 42, 74  # offsets of the headers


def sum_of_datagram(frame: bytes) -> int:
    """Return the sum of RFC 768, word by word: 0xFFFF for an intact datagram."""
    total = 17 + int.from_bytes(frame[UDP + 4 : UDP + 6], "big")
    data = frame[26:34] + frame[UDP : UDP + int.from_bytes(frame[UDP + 4 : UDP + 6], "big")]
    for at in range(0, len(data), 2):
        total += data[at] << 8 | data[at + 1]
        total = (total & 0xFFFF) + (total >> 16)
    return total


def verified(frame: bytes) -> bool:
    return frame[40:42] != bytes(2) and sum_of_datagram(frame) == 0xFFFF


def larger(words: Words, amount: int) -> Words:
    """Return ``words`` with a one's complement sum that is larger by ``amount``."""
    more = words.copy()
    more[0] = (int(words[0]) & 0xFFFF0000) + (int(words[0] & 0xFFFF) + amount) % 0xFFFF
    return more


def flipped(frame: bytes, bit: int) -> bytes:
    data = bytearray(frame)
    data[bit // 8] ^= 0x80 >> bit % 8
    return bytes(data)


def with_ipv4_checksum(frame: bytes) -> bytes:
    data = bytearray(frame)
    data[24:26] = bytes(2)
    data[24:26] = internet_checksum(bytes(data[IPV4:UDP])).to_bytes(2, "big")
    return bytes(data)


def bits_to_flip(op: LaneOp, accumulator_words: int, target_runs: int) -> list[int]:
    """Return all bits of the IPv4, UDP and lanesum headers, and some of the payload with its first and last."""
    rng = random.Random(op)
    size = PAYLOAD + 4 * uplink_words(op, accumulator_words)
    payload = [8 * PAYLOAD, 8 * size - 1, *(rng.randrange(8 * PAYLOAD, 8 * size) for _ in range(target_runs))]
    return [*range(8 * IPV4, 8 * PAYLOAD), *payload]


@pytest.mark.offered("one_pass")
@pytest.mark.parametrize(
    "op", [LaneOp.ADD32, LaneOp.TABLE8, LaneOp.EXPAND16, LaneOp.EXPAND3TO8, LaneOp.EXPAND5TO8], ids=lambda op: op.name
)
def test_flipped_bit_reaches_no_register(star: Star, op: LaneOp) -> None:
    """Anywhere in the datagram or its IPv4 header: dropped, or routed where it is no longer a contribution."""
    job = star.admit(2)
    words = job.words(1, op)
    place = Place(op=op)
    star.contribute(job, 0, words[0], place)
    port, frame = job.contribution(1, words[1], place, checksum=True)
    bits = bits_to_flip(op, star.accumulator_words, 10 * star.target.num_schedules)
    answered = [out for bit in bits for out in star.exchange(port, flipped(frame, bit)) if out[0] != SERVER.port]
    assert answered == []
    assert star.slot_decisions() == {"claim": 1}
    assert star.decisions()["drop_corrupt"] > len(bits) * 0.7
    assert star.exchange(port, frame) == job.result(aggregate(op, words), place)


@pytest.mark.offered("one_pass")
def test_damaged_address_with_valid_ipv4_checksum_is_dropped(star: Star) -> None:
    """The pseudo header covers the addresses: a broken router that changes them is detected."""
    job = star.admit(2)
    port, frame = job.contribution(1, job.words(2)[1], checksum=True)
    for bit in (8 * 30, 8 * 33 + 7):  # of the destination: another source is no member
        assert star.exchange(port, with_ipv4_checksum(flipped(frame, bit))) == []
    assert star.decisions() == {"drop_corrupt": 2}


@pytest.mark.offered("one_pass")
def test_contribution_without_a_checksum_is_not_verified(star: Star) -> None:
    """With a checksum of 0xFFFF it is verified."""
    job = star.admit(1)
    words = job.words(3)[0]
    port, frame = job.contribution(0, words)
    assert star.exchange(port, frame) == job.result(words)
    data = bytearray(frame)
    data[40:42] = b"\xff\xff"
    assert star.exchange(port, bytes(data)) == []
    # Contributions whose checksum is 0: it is sent as 0xFFFF.
    port, frame = job.contribution(0, words, Place(1), checksum=True)
    words = larger(words, int.from_bytes(frame[40:42], "big"))
    port, frame = job.contribution(0, words, Place(1), checksum=True)
    assert frame[40:42] == b"\xff\xff"
    assert star.exchange(port, frame) == job.result(words, Place(1))


def test_payload_that_is_not_parsed_is_not_verified(star: Star) -> None:
    """Contributions of another size, answers, other versions: routed unchanged; their receivers verify them."""
    job = star.admit(1)
    words = job.words(4)[0]
    for frame in (
        job.contribution(0, words[:9], checksum=True)[1],
        job.contribution(0, words, checksum=True, kind=2)[1],
        job.contribution(0, words, checksum=True, version=3)[1],
    ):
        damaged = flipped(frame, 8 * PAYLOAD)
        assert star.exchange(0, damaged) == routed(damaged, SERVER)


@pytest.mark.offered("one_pass")
def test_damaged_contribution_with_bypass_is_dropped(star: Star) -> None:
    """Its payload is parsed, so it is verified."""
    job = star.admit(1)
    port, frame = job.contribution(0, job.words(5)[0], checksum=True, flags=Flag.BYPASS)
    assert star.exchange(port, flipped(frame, 8 * PAYLOAD)) == []
    assert star.exchange(port, frame) == routed(frame, SERVER)
    assert star.decisions() == {"drop_corrupt": 1, "route_past": 1}


def test_checksum_of_every_answer_is_right(star: Star) -> None:
    """Results, replays, pending answers, conflicts and aggregates of random words."""
    seen: list[str] = []

    @settings(max_examples=4 * star.target.num_schedules, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        seed=st.integers(0, (1 << 32) - 1),
        op=st.sampled_from(star.target.ops),
        role=st.sampled_from([Role(0), Role.ASCEND, Role.UPPER]),
        checksum=st.booleans(),
        epoch=st.integers(0, (1 << 32) - 1),
    )
    def check(seed: int, op: LaneOp, role: Role, checksum: bool, epoch: int) -> None:
        star.clean_up()
        job: Job = star.admit([rack(0), rack(1)] if role & Role.UPPER else 2, role=role)
        words = job.words(seed, LaneOp.ADD32 if role & Role.UPPER else op)
        place = Place(epoch, chunk=seed & 0xFF, op=op)
        conflict = Place(
            epoch, chunk=seed & 0xFF, op=op, round_words=seed % (1 << star.target.slot_table.ROUND_WORD_BITS)
        )
        for worker, at in ((0, place), (0, place), (1, conflict), (1, place), (1, place)):
            port, frame = job.contribution(worker, words[worker], at, checksum=checksum)
            for _, answer in star.exchange(port, frame):
                assert verified(answer), answer.hex()
                seen.append(role.name or "one level")

    check()
    assert {"one level", "ASCEND", "UPPER"} <= set(seen)


def test_checksum_of_zero_is_sent_as_0xffff(star: Star) -> None:
    """An answer whose checksum would be 0 goes out with 0xFFFF."""
    job = star.admit(1)
    words = job.words(6)[0]
    ((_, answer),) = star.contribute(job, 0, words)
    # One more for the next epoch, which is part of the sum.
    words = larger(words, int.from_bytes(answer[40:42], "big") - 1)
    ((_, answer),) = star.contribute(job, 0, words, Place(1))
    assert answer[40:42] == b"\xff\xff"
    assert verified(answer)
