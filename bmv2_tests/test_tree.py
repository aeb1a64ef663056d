# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Two levels: sums ascend, answers descend, and lost ones are requested until they arrive.

The picture is in ``tree.py``.
"""

from __future__ import annotations

import dataclasses

import pytest

from lanesum.protocol import Kind, LaneOp
from lanesum.protocol.spec import Flag
from lanesum_switch.frames import UdpFrame

from .jobs import Place
from .oracle import Words, aggregate
from .star import ALL_OPS
from .test_udp_checksums import verified
from .tree import ALL_RACKS, RACKS, ROWS, SERVER, UPLINK, UPPER, WORKERS, Arrival, InFlight, Tree, TreeJob, answer_of

FIRST = Place()


def contribute(tree: Tree, job: TreeJob, workers: list[int], words: list[Words], place: Place) -> list[Arrival]:
    """Send contributions of some workers; return the frames that arrive because of the last one."""
    arrivals: list[Arrival] = []
    for worker in workers:
        arrivals = tree.carry(job.contribution(worker, words[worker], place))
    return arrivals


def check_result(arrivals: list[Arrival], total: Words, workers: list[int], flags: int = 0) -> None:
    """Check that each of ``workers`` got exactly one copy, all equal."""
    assert [worker for worker, _ in arrivals] == workers
    for arrival in arrivals:
        packet = answer_of(arrival)
        header = packet.header
        assert (header.kind, header.flags) == (Kind.RESULT, flags | Flag.UPPER)
        assert (header.racks, header.fan_in_racks, header.workers, header.fan_in_workers) == (ALL_RACKS, RACKS, 0, 0)
        assert (packet.payload == total).all()
        assert verified(arrival[1])


ALL, LEFT = list(range(WORKERS)), list(range(ROWS))


@pytest.mark.parametrize("op", ALL_OPS, ids=lambda op: op.name)
def test_sum_over_both_levels_reaches_every_worker(tree: Tree, op: LaneOp) -> None:
    """Codes are widened once, in the rack; every worker gets the sum of all six."""
    job = tree.admit()
    words = job.words(1, op)
    place = Place(op=op)
    arrivals = contribute(tree, job, [4, 0, 2, 5, 3, 1], words, place)
    check_result(arrivals, aggregate(op, words), ALL)


def test_lost_result_is_replayed_to_the_rack(tree: Tree) -> None:
    """The duplicate ascends again; the upper switch replays to the rack, whose switch sends it to all its workers."""
    job = tree.admit()
    words = job.words(2, LaneOp.ADD32)
    contribute(tree, job, ALL, words, FIRST)
    arrivals = contribute(tree, job, [1], words, FIRST)
    check_result(arrivals, aggregate(LaneOp.ADD32, words), LEFT, Flag.RETRANSMISSION)
    assert tree.nodes[0].slot_decisions()["ascend_again"] == 1
    assert tree.nodes[UPPER].slot_decisions()["replay"] == 1


def test_duplicate_names_the_missing_rack(tree: Tree) -> None:
    """All six workers are told: those of the missing rack may have the result already, and would not ask."""
    job = tree.admit()
    words = job.words(3, LaneOp.ADD32)
    contribute(tree, job, LEFT, words, FIRST)
    arrivals = contribute(tree, job, [2], words, FIRST)
    assert [worker for worker, _ in arrivals] == ALL
    for arrival in arrivals:
        header = answer_of(arrival).header
        assert (header.kind, header.flags) == (Kind.PENDING, Flag.RETRANSMISSION | Flag.UPPER)
        assert (header.racks, header.fan_in_racks, header.workers, header.fan_in_workers) == (0b01, RACKS, 0, 0)
        assert verified(arrival[1])


def test_duplicate_names_the_missing_worker_of_the_rack(tree: Tree) -> None:
    job = tree.admit()
    words = job.words(4, LaneOp.ADD32)
    contribute(tree, job, [0, 2, 3, 4, 5], words, FIRST)
    arrivals = contribute(tree, job, [0], words, FIRST)
    assert [worker for worker, _ in arrivals] == LEFT
    for arrival in arrivals:
        header = answer_of(arrival).header
        assert (header.kind, header.flags, header.workers) == (Kind.PENDING, Flag.RETRANSMISSION, 0b101)


def test_conflict_between_racks_reaches_all_workers(tree: Tree) -> None:
    job = tree.admit()
    words = job.words(5, LaneOp.ADD32)
    contribute(tree, job, LEFT, words, FIRST)
    arrivals = contribute(tree, job, [3, 4, 5], words, dataclasses.replace(FIRST, round_words=9))
    assert [worker for worker, _ in arrivals] == ALL
    for arrival in arrivals:
        header = answer_of(arrival).header
        assert (header.kind, header.flags, header.workers, header.racks) == (
            Kind.CONFLICT, Flag.UPPER, 9, FIRST.round_words,
        )  # fmt: skip
        assert verified(arrival[1])


def test_marks_of_both_levels_reach_all_workers(tree: Tree) -> None:
    """Congestion of a contribution below, and of answers on the downlink."""
    job = tree.admit()
    words = job.words(6, LaneOp.ADD32)
    tree.carry(job.contribution(0, words[0], FIRST, flags=Flag.ECN))
    total = aggregate(LaneOp.ADD32, words)
    check_result(contribute(tree, job, ALL[1:], words, FIRST), total, ALL, Flag.ECN)
    tree.nodes[1].set_congestion(2, 0)
    arrivals = contribute(tree, job, ALL, words, Place(1))
    assert [answer_of(arrival).header.flags & Flag.ECN for arrival in arrivals] == [0, 0, 0, 0, 0, Flag.ECN]
    assert all(verified(frame) for _, frame in arrivals)


def test_damaged_answer_is_handed_down_with_its_damage(tree: Tree) -> None:
    """Its payload is not parsed: the updated checksum is as wrong as before."""
    job = tree.admit()
    words = job.words(7, LaneOp.ADD32)
    for worker in ALL[:-1]:
        tree.carry(job.contribution(worker, words[worker], FIRST))
    on, _ = tree.hop(job.contribution(5, words[5], FIRST))
    ((_, port, up),) = on
    down, _ = tree.hop((UPPER, port, up))
    damaged = bytearray(down[0][2])
    damaged[100] ^= 4
    for frame, right in ((down[0][2], True), (bytes(damaged), False)):
        _, arrived = tree.hop((down[0][0], UPLINK, frame))
        assert [verified(copy) for _, copy in arrived] == [right] * ROWS
    # No checksum stays no checksum.
    without = bytearray(down[0][2])
    without[40:42] = bytes(2)
    _, arrived = tree.hop((down[0][0], UPLINK, bytes(without)))
    assert {copy[40:42] for _, copy in arrived} == {bytes(2)}


@pytest.mark.parametrize("ttl", [1, 2])
def test_ttl_of_handed_down_answers_is_decremented(tree: Tree, ttl: int) -> None:
    job = tree.admit()
    words = job.words(8, LaneOp.ADD32)
    contribute(tree, job, ALL[:-1], words, FIRST)
    ((_, port, up),), _ = tree.hop(job.contribution(5, words[5], FIRST))
    down, _ = tree.hop((UPPER, port, up))
    datagram = UdpFrame.unpack(down[0][2])
    assert datagram is not None
    _, arrived = tree.hop((0, UPLINK, dataclasses.replace(datagram, ttl=ttl).pack()))
    assert [frame[22] for _, frame in arrived] == [1] * (ROWS if ttl == 2 else 0)


def test_answers_for_racks_descend_from_the_uplink_only(tree: Tree) -> None:
    """Another job, tag or ingress port: routed to the destination, not multicast."""
    job, other = tree.admit(), tree.nodes[0]
    words = job.words(9, LaneOp.ADD32)
    contribute(tree, job, ALL[:-1], words, FIRST)
    ((_, port, up),), _ = tree.hop(job.contribution(5, words[5], FIRST))
    down, _ = tree.hop((UPPER, port, up))
    datagram = UdpFrame.unpack(next(frame for node, _, frame in down if node == 0))
    assert datagram is not None
    payload = bytearray(datagram.payload)
    payload[7] ^= 1  # the tag
    _, arrived = tree.hop((0, UPLINK, datagram.with_payload(bytes(payload)).pack()))
    assert len(arrived) == 1
    # From a worker's port it would be spoofed: its source is the server's address.
    assert tree.hop((0, 1, datagram.pack())) == ([], [])
    assert other.decisions()["drop_spoofed"] == 1


@pytest.mark.parametrize("node", [0, UPPER], ids=["rack", "upper"])
@pytest.mark.parametrize("when", ["collecting", "complete"])
def test_restarted_switch_gets_all_contributions_again(tree: Tree, node: int, when: str) -> None:
    """All of its registers are empty; workers with the result retransmit too, because pending answers ask them to."""
    job = tree.admit()
    words = job.words(10, LaneOp.ADD32)
    total = aggregate(LaneOp.ADD32, words)
    before = ALL if when == "complete" else [0, 1, 3, 4, 5]
    contribute(tree, job, before, words, FIRST)
    tree.nodes[node].restart()
    lacking = 1
    got: set[int] = set()
    queue: list[InFlight] = [job.contribution(lacking, words[lacking], FIRST)]
    for _ in range(4):  # the worker without the result retransmits
        asked = set()
        while queue:
            for worker, frame in tree.carry(queue.pop()):
                packet = answer_of((worker, frame))
                header = packet.header
                if header.kind == Kind.RESULT:
                    assert (packet.payload == total).all()
                    got.add(worker)
                elif not _counted(worker, header.flags, header.workers, header.racks):
                    asked.add(worker)
        queue = [job.contribution(worker, words[worker], FIRST) for worker in sorted(asked | {lacking})]
    assert lacking in got


def _counted(worker: int, flags: int, workers: int, racks: int) -> bool:
    if flags & Flag.UPPER:
        return bool(racks >> worker // ROWS & 1)
    return bool(workers >> worker % ROWS & 1)


def test_contributions_with_bypass_reach_the_server(tree: Tree) -> None:
    """Past both levels, unchanged but for the hops."""
    job = tree.admit()
    words = job.words(11, LaneOp.EXPAND8)
    place = Place(op=LaneOp.EXPAND8)
    in_flight = job.contribution(2, words[2], place, flags=Flag.BYPASS)
    ((receiver, frame),) = tree.carry(in_flight)
    assert receiver == SERVER
    assert frame[40:] == in_flight[2][40:], "with the checksum that its worker made"
    assert frame[22] == in_flight[2][22] - 2
