# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Results of scattered rounds: the owner of a chunk gets the words, the others a header."""

from __future__ import annotations

import dataclasses

import pytest

from lanesum.protocol import LaneOp
from lanesum.protocol.owners import Turns, owner_mark, owner_of
from lanesum.protocol.spec import (
    FIRST_OWNER,
    FRAME_OVERHEAD_BYTES,
    HEADER_BYTES,
    OPENING,
    SCATTERED,
    WORD_BYTES,
    Flag,
    Kind,
)
from lanesum_fabric.program.switch_job import Role
from lanesum_switch.frames import UdpFrame

from .oracle import aggregate
from .star import Place, Star, rack, worker_host
from .test_tree import ALL, answer_of, contribute, verified
from .tree import ROWS, UPLINK, UPPER, WORKERS, Tree

pytestmark = pytest.mark.offered("shortens")

SIZE = 32 | SCATTERED  # each shard has one chunk


def owned_by(owner: int, op: LaneOp = LaneOp.ADD32) -> Place:
    return Place(chunk=owner, op=op, round_words=SIZE, spare=FIRST_OWNER + owner)


@pytest.mark.parametrize("op", [LaneOp.ADD32, LaneOp.EXPAND8, LaneOp.EXPAND5TO8])
@pytest.mark.parametrize("checksum", [False, True])
def test_owner_alone_gets_words_of_its_chunk(star: Star, op: LaneOp, checksum: bool) -> None:
    job = star.admit(3)
    for owner in range(3):
        place, words = owned_by(owner, op), job.words(owner, op)
        for worker in (2, 0):
            assert star.contribute(job, worker, words[worker], place, checksum=checksum) == []
        answers = star.contribute(job, 1, words[1], place, checksum=checksum)
        assert answers == job.shortened(aggregate(op, words), place, owner)
    assert (star.decisions()["keep_words"], star.decisions()["shorten"]) == (3, 6)


def test_lost_results_of_scattered_rounds_are_replayed_whole(star: Star) -> None:
    """The owner gets its sum back after the others have moved on, and the others get words, too."""
    job = star.admit(2)
    place, words = owned_by(1), job.words(1)
    star.contribute(job, 0, words[0], place)
    assert star.contribute(job, 0, words[0], place) == job.pending([0], place)
    star.contribute(job, 1, words[1], place)
    later = dataclasses.replace(place, epoch=1, shadow=1)
    star.contribute(job, 0, words[0], later)
    total = aggregate(LaneOp.ADD32, words)
    for worker in (1, 0):
        assert star.contribute(job, worker, words[worker], place) == job.replay(worker, total, place)


@pytest.mark.parametrize("spare", [0, OPENING])
def test_results_without_owner_are_whole(star: Star, spare: int) -> None:
    job = star.admit(2)
    place, words = dataclasses.replace(owned_by(0), spare=spare), job.words(2)
    star.contribute(job, 0, words[0], place)
    assert star.contribute(job, 1, words[1], place) == job.result(aggregate(LaneOp.ADD32, words), place)
    assert star.decisions().get("shorten", 0) == 0


def test_chunk_of_absent_owner_sends_no_words(star: Star) -> None:
    """A worker of another switch, or a wrong mark: the worker that needs the words asks for them."""
    job = star.admit(2)
    place, words = dataclasses.replace(owned_by(0), spare=0xFF), job.words(3)
    star.contribute(job, 0, words[0], place)
    total = aggregate(LaneOp.ADD32, words)
    assert star.contribute(job, 1, words[1], place) == job.shortened(total, place, None)
    assert star.contribute(job, 0, words[0], place) == job.replay(0, total, place)


def test_header_only_results_keep_the_flags(star: Star) -> None:
    job = star.admit(2)
    place, words = owned_by(0), job.words(4)
    star.contribute(job, 0, words[0], place, flags=Flag.ECN | Flag.RETRANSMISSION)
    expected = job.shortened(aggregate(LaneOp.ADD32, words), place, 0, flags=Flag.ECN | Flag.RETRANSMISSION)
    assert star.contribute(job, 1, words[1], place) == expected


def test_results_for_racks_are_whole(star: Star) -> None:
    job = star.admit([rack(0), rack(1)], role=Role.UPPER)
    place, words = owned_by(0), job.words(5)
    star.contribute(job, 0, words[0], place)
    assert star.contribute(job, 1, words[1], place) == job.result(aggregate(LaneOp.ADD32, words), place)


def test_rack_shortens_the_answer_of_the_upper_switch(tree: Tree) -> None:
    job = tree.admit()
    for owner in range(WORKERS):
        place, words = owned_by(owner), job.words(owner, LaneOp.ADD32)
        turns = Turns.of_round(place.op, place.round_words, tree.accumulator_words, WORKERS)
        assert place.spare == owner_mark(owner_of(place.chunk, place.round_words, turns), place.round_words)
        arrivals = contribute(tree, job, ALL, words, place)
        assert [worker for worker, _ in arrivals] == ALL
        assert all(verified(frame) for _, frame in arrivals)
        packets = [answer_of(arrival) for arrival in arrivals]
        assert {packet.header.kind for packet in packets} == {Kind.RESULT}
        assert [len(packet.payload) for packet in packets] == [
            tree.accumulator_words * (worker == owner) for worker in ALL
        ]
        assert (packets[owner].payload == aggregate(LaneOp.ADD32, words)).all()


def test_rack_gives_damaged_answer_no_new_checksum(tree: Tree) -> None:
    """With a new checksum its header would look right: a wrong checksum is dropped, and without one it stays whole."""
    job = tree.admit()
    place, words = owned_by(0), job.words(7, LaneOp.ADD32)
    contribute(tree, job, ALL[:-1], words, place)
    ((_, port, up),), _ = tree.hop(job.contribution(5, words[5], place))
    down, _ = tree.hop((UPPER, port, up))
    node, _, whole = down[0]
    damaged = bytearray(whole)
    damaged[100] ^= 4
    assert tree.hop((node, UPLINK, bytes(damaged))) == ([], [])
    without = bytearray(whole)
    without[40:42] = bytes(2)
    _, arrived = tree.hop((node, UPLINK, bytes(without)))
    assert [len(copy) for _, copy in arrived] == [len(whole)] * ROWS
    assert {copy[40:42] for _, copy in arrived} == {bytes(2)}


def test_answer_of_another_size_is_handed_down_whole(tree: Tree) -> None:
    job = tree.admit()
    place, words = owned_by(0), job.words(8, LaneOp.ADD32)
    contribute(tree, job, ALL[:-1], words, place)
    ((_, port, up),), _ = tree.hop(job.contribution(5, words[5], place))
    down, _ = tree.hop((UPPER, port, up))
    datagram = UdpFrame.unpack(down[0][2])
    assert datagram is not None
    payload = bytearray(datagram.payload[:-4])
    payload[HEADER_BYTES - 1] -= 1  # its words
    _, arrived = tree.hop((down[0][0], UPLINK, datagram.with_payload(bytes(payload)).pack(checksum=True)))
    assert [len(copy) for _, copy in arrived] == [len(down[0][2]) - 4] * ROWS


def _bytes_down(star: Star, workers: int, *, scattered: bool) -> list[int]:
    """Sum a chunk for each worker; return the bytes of the frames that each worker receives."""
    job = star.admit(workers, slot_count=workers)
    received = dict.fromkeys((worker_host(worker).ip for worker in range(workers)), 0)
    for chunk in range(workers):
        place = dataclasses.replace(owned_by(chunk) if scattered else Place(chunk=chunk), slot=chunk)
        words = job.words(chunk)
        for worker in range(workers):
            for _, frame in star.contribute(job, worker, words[worker], place):
                datagram = UdpFrame.unpack(frame)
                assert datagram is not None
                received[datagram.destination_ip] += len(frame)
    return list(received.values())


def _check_downlink(star: Star, workers: int) -> float:
    """Compare the downlink of a scattered round with an all-reduce; return its share."""
    whole = FRAME_OVERHEAD_BYTES + WORD_BYTES * star.accumulator_words
    expected = whole + (workers - 1) * FRAME_OVERHEAD_BYTES
    assert _bytes_down(star, workers, scattered=True) == [expected] * workers
    assert _bytes_down(star, workers, scattered=False) == [whole * workers] * workers
    return expected / (whole * workers)


@pytest.mark.parametrize(("workers", "share"), [(4, 0.425), (8, 0.325)])
def test_downlink_carries_own_words_and_headers(star: Star, workers: int, share: float) -> None:
    assert _check_downlink(star, workers) < share


@pytest.mark.parametrize(("workers", "share"), [(4, 0.35), (8, 0.25)])
def test_downlink_of_other_sizes(other_size: Star, workers: int, share: float) -> None:
    assert (_check_downlink(other_size, workers) < share) == (other_size.accumulator_words == 128)
