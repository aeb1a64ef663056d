# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Contributions become one result, which every worker gets and no other host."""

from __future__ import annotations

import numpy as np
import pytest

from lanesum.protocol import Header, LaneOp
from lanesum.protocol.spec import CERTIFIED, SCATTERED
from lanesum_switch.frames import UdpFrame, internet_checksum, ipv4_int

from .oracle import aggregate
from .star import SERVER, Place, Star, routed
from .targets import TARGETS, open_target

#   worker 0 --0 +--------+
#   worker 1 --1 | switch |7-- server (gets no packet)
#   worker 2 --2 +--------+


def datagram_sum(frame: bytes) -> int:
    """Return the one's complement sum of a UDP datagram and its pseudo header (RFC 768): 0xFFFF if it is intact."""
    assert frame[40:42] != bytes(2)
    data = frame[26:34] + bytes([0, 17]) + frame[38:40] + frame[34 : 34 + int.from_bytes(frame[38:40], "big")]
    return (sum(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)) - 1) % 0xFFFF + 1


def test_contributions_in_order_give_one_result(star: Star) -> None:
    """No answer until the last contribution, then one copy of the sum to each worker."""
    job = star.admit(3)
    words = job.words(1)
    assert star.contribute(job, 0, words[0]) == []
    assert star.contribute(job, 1, words[1]) == []
    assert star.contribute(job, 2, words[2]) == job.result(aggregate(LaneOp.ADD32, words))
    assert star.slot_decisions() == {"claim": 1, "contribute": 1, "contribute_and_complete": 1}


def test_contributions_in_any_order_give_the_same_sum(star: Star) -> None:
    job = star.admit(4)
    words = job.words(2)
    total = aggregate(LaneOp.ADD32, words)
    for epoch, order in enumerate([(3, 0, 2, 1), (1, 3, 0, 2), (2, 1, 3, 0)]):
        place = Place(epoch, shadow=epoch % 2)
        for worker in order[:-1]:
            assert star.contribute(job, worker, words[worker], place) == []
        assert star.contribute(job, order[-1], words[order[-1]], place) == job.result(total, place)


def test_result_copies_are_addressed_to_their_workers(star: Star) -> None:
    """MAC, address, port and checksum of each copy, byte by byte."""
    job = star.admit([4, 2])
    words = job.words(3)
    star.contribute(job, 0, words[0])
    copies = star.contribute(job, 1, words[1])
    assert [port for port, _ in copies] == [2, 4]
    for (port, frame), address, udp_port in zip(copies, ("10.0.0.3", "10.0.0.5"), (40001, 40000), strict=True):
        datagram = UdpFrame.unpack(frame)
        assert datagram is not None
        assert datagram.destination_mac == bytes([2, 0, 0, 0, 1, port])
        assert datagram.destination_ip == ipv4_int(address)
        assert (datagram.source_ip, datagram.source_port) == (SERVER.ip, 19539)
        assert datagram.destination_port == udp_port
        assert datagram.ttl == 64
        assert internet_checksum(frame[14:34]) == 0
        assert datagram_sum(frame) == 0xFFFF, "a UDP checksum that is right, and there"


def test_contributions_from_the_server_port_are_summed(star: Star) -> None:
    job = star.admit(2, udp_port=19539)
    words = job.words(3)
    star.contribute(job, 0, words[0])
    assert star.contribute(job, 1, words[1]) == job.result(aggregate(LaneOp.ADD32, words))


def test_fan_in_of_one_completes_at_once(star: Star) -> None:
    """The first contribution is the last one, and is not added to an older sum in the registers."""
    job = star.admit(1)
    for epoch in range(4):
        place = Place(epoch, shadow=epoch % 2)
        words = job.words(epoch)
        assert star.contribute(job, 0, words[0], place) == job.result(words[0], place)
        assert star.contribute(job, 0, words[0], place) == job.replay(0, words[0], place)
    assert star.slot_decisions() == {"claim_and_complete": 4, "replay": 4}


def test_thirty_two_workers_complete_one_sum(star: Star) -> None:
    """The bitmap has 32 bits; several workers share a port."""
    job = star.admit(32)
    words = job.words(4)
    for worker in range(31):
        assert star.contribute(job, worker, words[worker]) == []
    copies = star.contribute(job, 31, words[31])
    assert copies == job.result(aggregate(LaneOp.ADD32, words))
    assert len(copies) == 32


def test_identifiers_of_zero_are_ordinary_values(star: Star) -> None:
    """Job 0, tag 0, epoch 0, chunk 0, slot 0: an explicit bit marks a free entry (INV-3)."""
    job = star.admit(2, job=0, tag=0)
    words = job.words(5)
    assert star.contribute(job, 0, words[0]) == []
    assert star.contribute(job, 0, words[0]) == job.pending([0])
    assert star.contribute(job, 1, words[1]) == job.result(aggregate(LaneOp.ADD32, words))
    assert star.contribute(job, 1, words[1]) == job.replay(1, aggregate(LaneOp.ADD32, words))


def test_rounds_too_large_for_an_entry_are_routed(star: Star) -> None:
    """Some programs store the round size in fewer bits; the largest round that fits is summed."""
    job = star.admit(1)
    words = job.words(31)[0]
    bits = star.target.slot_table.ROUND_WORD_BITS
    largest = Place(round_words=(1 << bits) - 1)
    assert star.contribute(job, 0, words, largest) == job.result(words, largest)
    for round_words in [1 << bit for bit in range(bits, 32)]:
        port, frame = job.contribution(0, words, Place(epoch=1, round_words=round_words), checksum=True)
        assert star.exchange(port, frame) == routed(frame, SERVER)
    assert star.decisions().get("route_other_size", 0) == 32 - bits


@pytest.mark.parametrize("marks", [CERTIFIED, SCATTERED, CERTIFIED | SCATTERED])
def test_marked_rounds_are_summed_for_all_workers(star: Star, marks: int) -> None:
    """A switch sends whole sums of scattered rounds, too; a round without the marks is another one."""
    job = star.admit(3)
    words = job.words(32)
    marked, plain = (Place(chunk=1, round_words=192 | bits) for bits in (marks, 0))
    assert star.contribute(job, 0, words[0], marked) == []
    assert star.contribute(job, 1, words[1], marked) == []
    total = aggregate(LaneOp.ADD32, words)
    assert star.contribute(job, 2, words[2], marked) == job.result(total, marked)
    assert star.contribute(job, 0, words[0], marked) == job.replay(0, total, marked)
    assert star.contribute(job, 1, words[1], plain) == job.conflict(1, plain, marked)
    assert "route_other_size" not in star.decisions()


@pytest.mark.parametrize("name", TARGETS)
def test_new_switch_has_no_owner_in_its_entries(name: str) -> None:
    """The registers of a new switch are all 0, and so are the numbers of this job.

    With an owner "job 0, tag 0, epoch 0, chunk 0, operation 0" the second packet would be a conflict, the third late.
    """
    places = [Place(round_words=0), Place(slot=1, op=LaneOp.MAX), Place(epoch=0xFFFFFFFF, slot=2)]
    with open_target(name) as target:
        fresh = Star(target)
        job = fresh.admit(2, job=0, tag=0)
        for place in places:
            words = job.words(5, place.op)
            assert fresh.contribute(job, 0, words[0], place) == []
            assert fresh.contribute(job, 1, words[1], place) == job.result(aggregate(place.op, words), place)
        assert target.decisions()["claim"] == len(places)


def test_largest_identifiers_are_summed(star: Star) -> None:
    job = star.admit(2, job=0xFFFF, tag=0xFFFFFFFF, slot_base=1020, slot_count=4)
    place = Place(0xFFFFFFFF, 0xFFFFFFFF, slot=3, shadow=1)
    words = job.words(6)
    assert star.contribute(job, 0, words[0], place) == []
    assert star.contribute(job, 1, words[1], place) == job.result(aggregate(LaneOp.ADD32, words), place)


def test_slots_are_reused_by_later_epochs(star: Star) -> None:
    """Twelve epochs of five chunks over two slots overwrite both shadow sets several times."""
    slots, chunks = 2, 5
    job = star.admit(3, slot_count=slots)
    position = 0
    used = set()
    for epoch in range(12):
        for chunk in range(chunks):
            place = Place(epoch, chunk, position % slots, position // slots % 2)
            used.add((place.slot, place.shadow))
            words = job.words(1000 + position)
            assert star.contribute(job, 0, words[0], place) == []
            assert star.contribute(job, 1, words[1], place) == []
            total = aggregate(LaneOp.ADD32, words)
            assert star.contribute(job, 2, words[2], place) == job.result(total, place)
            position += 1
    assert len(used) == 2 * slots
    assert star.slot_decisions() == {"claim": 60, "contribute": 60, "contribute_and_complete": 60}


def test_entries_of_a_job_hold_different_chunks(star: Star) -> None:
    """All entries of a job hold an incomplete chunk each at the same time."""
    job = star.admit(2, slot_count=4)
    places = [Place(0, position, position % 4, position // 4) for position in range(8)]
    words = [job.words(50 + place.chunk) for place in places]
    for place, pair in zip(places, words, strict=True):
        assert star.contribute(job, 0, pair[0], place) == []
    for place, pair in reversed(list(zip(places, words, strict=True))):
        assert star.contribute(job, 1, pair[1], place) == job.result(aggregate(LaneOp.ADD32, pair), place)


#   job A: worker 0, worker 1        +--------+
#   job B: worker 1, worker 2    --- | switch |     same slot numbers, neighbouring registers
#                                    +--------+


def test_two_jobs_on_neighbouring_slots_do_not_mix(star: Star) -> None:
    first = star.admit([0, 1], slot_base=0, slot_count=4)
    second = star.admit([1, 2], slot_base=4, slot_count=4)
    for slot in (0, 3):
        place = Place(slot=slot)
        a, b = first.words(7), second.words(8)
        assert star.contribute(first, 0, a[0], place) == []
        assert star.contribute(second, 0, b[0], place) == []
        assert star.contribute(second, 1, b[1], place) == second.result(aggregate(LaneOp.ADD32, b), place)
        assert star.contribute(first, 1, a[1], place) == first.result(aggregate(LaneOp.ADD32, a), place)


def test_slot_beyond_range_leaves_neighbour_unchanged(star: Star) -> None:
    """Slot numbers are relative and bounded: the first slot beyond the range belongs to the next job."""
    first = star.admit([0, 1], slot_base=0, slot_count=4)
    second = star.admit([2, 3], slot_base=4, slot_count=4)
    b = second.words(9)
    star.contribute(second, 0, b[0])
    port, frame = first.contribution(0, first.words(10)[0], Place(slot=4))
    assert star.exchange(port, frame) == routed(frame, SERVER)
    assert star.contribute(second, 1, b[1]) == second.result(aggregate(LaneOp.ADD32, b))


@pytest.mark.parametrize("finished", [False, True])
def test_new_incarnation_ignores_registers_of_the_old_one(star: Star, finished: bool) -> None:
    """A job is removed during a chunk or after it, then admitted again with a new tag on the same slots.

    The old incarnation was ahead of the new one, in epochs and chunks.
    """
    place = Place(epoch=500, chunk=9)
    dead = star.admit(3, job=77)
    old = dead.words(11)
    star.contribute(dead, 0, old[0], place)
    star.contribute(dead, 1, old[1], place)
    if finished:
        assert len(star.contribute(dead, 2, old[2], place)) == 3
    star.remove(dead)

    new = star.admit(2, job=77)
    words = new.words(12)
    assert star.contribute(new, 0, words[0]) == []
    # A late packet of the old incarnation is only routed.
    port, frame = dead.contribution(2, old[2], place)
    assert star.exchange(port, frame) == routed(frame, SERVER)
    assert star.contribute(new, 1, words[1]) == new.result(aggregate(LaneOp.ADD32, words))


def test_job_with_removed_jobs_tag_owns_no_entries(star: Star) -> None:
    """A job that draws the tag of a removed job does not continue its sums, even on the same slots."""
    place = Place(epoch=500, chunk=9)
    dead = star.admit(2, tag=0x600DCAFE)
    star.contribute(dead, 0, dead.words(1)[0], place)
    star.remove(dead)
    heir = star.admit(2, tag=0x600DCAFE)
    words = heir.words(2)
    assert star.contribute(heir, 1, words[1]) == []
    assert star.contribute(heir, 0, words[0]) == heir.result(aggregate(LaneOp.ADD32, words))


def test_contributions_of_a_removed_job_are_routed(star: Star) -> None:
    job = star.admit(1)
    words = job.words(13)[0]
    star.remove(job)
    port, frame = job.contribution(0, words)
    assert star.exchange(port, frame) == routed(frame, SERVER)
    assert star.slot_decisions() == {}


def test_contribution_worker_bit_and_fan_in_are_ignored(star: Star) -> None:
    """Contributor bit and fan-in come from the member table, never from the packet."""
    job = star.admit(2)
    words = job.words(14)
    assert star.contribute(job, 0, words[0], workers=0b11, fan_in_workers=1) == []
    assert star.contribute(job, 0, words[0], workers=0b10, fan_in_workers=1) == job.pending([0])
    total = aggregate(LaneOp.ADD32, words)
    assert star.contribute(job, 1, words[1], workers=0, fan_in_workers=9) == job.result(total)


@pytest.mark.parametrize("checksum", [False, True], ids=["without", "with"])
def test_answers_have_a_udp_checksum(star: Star, checksum: bool) -> None:
    """Also where the contribution had none: the switch computes the payload."""
    job = star.admit(2)
    words = job.words(15)
    for worker, times in ((0, 2), (1, 2)):
        port, frame = job.contribution(worker, words[worker], checksum=checksum)
        answers = [answer for _ in range(times) for answer in star.exchange(port, frame)]
        assert len(answers) == (2 if worker == 0 else 3)
        assert {datagram_sum(answer) for _, answer in answers} == {0xFFFF}


def test_answer_keeps_header_fields_of_the_contribution(star: Star) -> None:
    """ECN, identification and fragment flags of IPv4, and spare of the lanesum header; no DSCP, no racks."""
    job = star.admit(1)
    port, frame = job.contribution(0, job.words(16)[0], spare=1, fan_in_racks=9)
    data = bytearray(frame)
    data[15], data[18:20], data[20], data[24:26] = 0xB9, b"\x12\x34", 0, bytes(2)
    data[24:26] = internet_checksum(bytes(data[14:34])).to_bytes(2, "big")
    for _ in range(2):
        ((_, answer),) = star.exchange(port, bytes(data))
        assert (answer[15], answer[18:20], answer[20]) == (0xB9 & 3, b"\x12\x34", 0)
        assert internet_checksum(answer[14:34]) == 0
        header = Header.unpack(answer[42:])
        assert (header.spare, header.racks, header.fan_in_racks) == (1, 0, 0)


def test_words_are_big_endian_on_the_wire(star: Star) -> None:
    """A carry over all four bytes, compared as bytes."""
    job = star.admit(2)
    one = np.zeros(star.accumulator_words, np.uint32)
    one[0], one[1] = 0x00FFFFFF, 0x01020304
    star.contribute(job, 0, one)
    copies = star.contribute(job, 1, np.eye(1, star.accumulator_words, dtype=np.uint32)[0])
    for _, frame in copies:
        assert frame[74:82] == bytes.fromhex("01000000 01020304")
