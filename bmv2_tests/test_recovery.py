# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Loss, duplication, late packets: no worker is counted twice (INV-1), and no worker waits forever."""

from __future__ import annotations

import pytest

from lanesum.protocol import Kind, LaneOp, Packet
from lanesum.protocol.spec import Flag
from lanesum_switch.frames import UdpFrame

from .oracle import aggregate
from .star import ALL_OPS, FIRST, Place, Star

EPOCHS = 1 << 32


def test_duplicate_before_completion_names_the_contributors(star: Star) -> None:
    job = star.admit(4)
    words = job.words(1)
    star.contribute(job, 2, words[2])
    assert star.contribute(job, 2, words[2]) == job.pending([2])
    star.contribute(job, 0, words[0])
    assert star.contribute(job, 2, words[2], flags=Flag.RETRANSMISSION) == job.pending([0, 2])
    assert star.contribute(job, 0, words[0], flags=Flag.RETRANSMISSION) == job.pending([0, 2])
    star.contribute(job, 3, words[3])
    assert star.contribute(job, 3, words[3]) == job.pending([0, 2, 3])
    # After four duplicates every worker still counts once.
    assert star.contribute(job, 1, words[1]) == job.result(aggregate(LaneOp.ADD32, words))
    assert star.slot_decisions() == {
        "claim": 1, "contribute": 2, "report_pending": 4, "contribute_and_complete": 1,
    }  # fmt: skip


@pytest.mark.parametrize("op", ALL_OPS, ids=lambda op: op.name)
def test_duplicate_after_completion_is_answered_with_the_result(star: Star, op: LaneOp) -> None:
    """The replay carries the words of the result (INV-2), to the sender alone, with flag RETRANSMISSION."""
    job = star.admit(3)
    words = job.words(2, op)
    place = Place(op=op)
    for worker in range(2):
        star.contribute(job, worker, words[worker], place)
    copies = dict(star.contribute(job, 2, words[2], place))
    for worker, member in enumerate(job.members):
        port = member.host.port
        replay = star.contribute(job, worker, words[worker], place, flags=Flag.RETRANSMISSION)
        assert replay == job.replay(worker, aggregate(op, words), place)
        assert replay[0][1][74:] == copies[port][74:], "the payload of the multicast copy"


@pytest.mark.parametrize("op", ALL_OPS, ids=lambda op: op.name)
def test_pending_answer_has_no_payload(star: Star, op: LaneOp) -> None:
    job = star.admit(2)
    words = job.words(3, op)
    place = Place(op=op)
    star.contribute(job, 1, words[1], place)
    answer = star.contribute(job, 1, words[1], place)
    assert answer == job.pending([1], place)
    assert len(answer[0][1]) == 14 + 20 + 8 + 32


def test_lost_contribution_is_replaced_by_the_retransmission(star: Star) -> None:
    """Worker 1's first packet is lost; its second one completes the sum."""
    job = star.admit(2)
    words = job.words(4)
    star.set_fault(1, ingress=True, share=1.0)
    star.contribute(job, 0, words[0])
    assert star.contribute(job, 1, words[1]) == []
    assert star.contribute(job, 0, words[0], flags=Flag.RETRANSMISSION) == job.pending([0])
    star.set_fault(1, ingress=True, share=0.0)
    total = aggregate(LaneOp.ADD32, words)
    result = job.result(total, flags=Flag.RETRANSMISSION)
    assert star.contribute(job, 1, words[1], flags=Flag.RETRANSMISSION) == result


def test_lost_result_is_replayed(star: Star) -> None:
    """Worker 0's copy is lost: every retransmission is answered with it."""
    job = star.admit(3)
    words = job.words(5)
    total = aggregate(LaneOp.ADD32, words)
    star.contribute(job, 0, words[0])
    star.contribute(job, 1, words[1])
    star.set_fault(0, ingress=False, share=1.0)
    assert [port for port, _ in star.contribute(job, 2, words[2])] == [1, 2]
    assert star.contribute(job, 0, words[0], flags=Flag.RETRANSMISSION) == []
    star.set_fault(0, ingress=False, share=0.0)
    for _ in range(2):
        assert star.contribute(job, 0, words[0], flags=Flag.RETRANSMISSION) == job.replay(0, total)


def test_result_is_replayed_while_other_shadow_set_fills(star: Star) -> None:
    """A straggler still needs chunk 0 when the others send chunk 1 in the same slot."""
    job = star.admit(2, slot_count=1)
    old, new = job.words(6), job.words(7)
    place = Place(chunk=1, shadow=1)
    star.contribute(job, 0, old[0])
    star.contribute(job, 1, old[1])
    star.contribute(job, 0, new[0], place)
    assert star.contribute(job, 1, old[1]) == job.replay(1, aggregate(LaneOp.ADD32, old))
    assert star.contribute(job, 1, new[1], place) == job.result(aggregate(LaneOp.ADD32, new), place)
    assert star.contribute(job, 0, old[0]) == job.replay(0, aggregate(LaneOp.ADD32, old))


@pytest.mark.parametrize("complete", [False, True], ids=["incomplete", "complete"])
@pytest.mark.parametrize(
    ("late", "owner"),
    [
        pytest.param(Place(epoch=3, chunk=5), Place(epoch=4, chunk=0), id="old epoch"),
        pytest.param(Place(epoch=4, chunk=0), Place(epoch=4, chunk=8), id="old chunk"),
        pytest.param(Place(epoch=EPOCHS - 1, chunk=9), Place(epoch=0, chunk=0), id="epoch before the wrap"),
        pytest.param(Place(epoch=0), Place(epoch=EPOCHS // 2 - 1), id="as old as serial numbers can tell"),
    ],
)
def test_late_packets_are_dropped(star: Star, late: Place, owner: Place, complete: bool) -> None:
    """No answer either: their workers have the result of that chunk, or the entry would not be overwritten."""
    job = star.admit(2)
    old, new = job.words(8), job.words(9)
    total = aggregate(LaneOp.ADD32, new)
    star.contribute(job, 0, old[0], late)
    star.contribute(job, 1, old[1], late)
    star.contribute(job, 0, new[0], owner)
    if complete:
        assert star.contribute(job, 1, new[1], owner) == job.result(total, owner)
    before = star.slot_decisions().get("drop_late", 0)
    for worker in (0, 1):
        assert star.contribute(job, worker, old[worker], late) == []
    assert star.slot_decisions()["drop_late"] == before + 2
    if complete:
        assert star.contribute(job, 0, new[0], owner) == job.replay(0, total, owner)
    else:
        assert star.contribute(job, 1, new[1], owner) == job.result(total, owner)


def test_epochs_wrap_around(star: Star) -> None:
    """Serial number arithmetic (RFC 1982): 0 follows 2^32 - 1."""
    job = star.admit(2)
    for epoch in (EPOCHS - 2, EPOCHS - 1, 0, 1):
        place = Place(epoch)
        words = job.words(epoch)
        total = aggregate(LaneOp.ADD32, words)
        assert star.contribute(job, 0, words[0], place) == []
        assert star.contribute(job, 1, words[1], place) == job.result(total, place)
        assert star.contribute(job, 1, words[1], place) == job.replay(1, total, place)
    assert star.slot_decisions() == {"claim": 4, "contribute_and_complete": 4, "replay": 4}


def test_epoch_half_the_range_ahead_is_older(star: Star) -> None:
    """RFC 1982 leaves exactly 2^31 undefined; lanesum takes it for older, from both sides."""
    job = star.admit(2)
    words = job.words(10)
    star.contribute(job, 0, words[0], Place(5))
    assert star.contribute(job, 0, words[0], Place(5 + EPOCHS // 2)) == []
    assert star.contribute(job, 0, words[0], Place(5)) == job.pending([0], Place(5))
    assert star.slot_decisions() == {"claim": 1, "drop_late": 1, "report_pending": 1}


def test_unfinished_chunk_is_overwritten_by_a_newer_one(star: Star) -> None:
    """All members must follow: the contributions to the abandoned chunk are not in the new sum."""
    job = star.admit(3)
    old, new = job.words(11), job.words(12)
    place = Place(epoch=1)
    star.contribute(job, 0, old[0])
    star.contribute(job, 1, old[1])
    assert star.contribute(job, 1, new[1], place) == []
    assert star.contribute(job, 1, new[1], place) == job.pending([1], place)
    assert star.contribute(job, 0, new[0], place) == []
    assert star.contribute(job, 2, new[2], place) == job.result(aggregate(LaneOp.ADD32, new), place)


@pytest.mark.parametrize("complete", [False, True], ids=["incomplete", "complete"])
def test_another_operation_for_a_chunk_is_a_conflict(star: Star, complete: bool) -> None:
    """All workers are told of the disagreement; the sum does not change."""
    job = star.admit(2)
    words = job.words(13)
    total = aggregate(LaneOp.ADD32, words)
    star.contribute(job, 0, words[0])
    if complete:
        star.contribute(job, 1, words[1])
    for op in (LaneOp.MAX, LaneOp.EXPAND8):
        answers = star.contribute(job, 1, job.words(14, op)[1], Place(op=op))
        assert answers == job.conflict(1, Place(op=op), FIRST)
        assert len(answers) == 2
    assert star.slot_decisions()["report_conflict"] == 2
    if complete:
        assert star.contribute(job, 1, words[1]) == job.replay(1, total)
    elif star.target.slot_table.NOTES_CONFLICTS:
        # All workers were told, so the round is over; its partial sum is never sent as a complete one.
        assert star.contribute(job, 1, words[1]) == job.pending([0])
    else:
        assert star.contribute(job, 1, words[1]) == job.result(total)


def test_duplicates_of_the_completing_packet_are_replayed(star: Star) -> None:
    """The network delivers the last contribution three times: one multicast, two replays."""
    job = star.admit(2)
    words = job.words(15)
    total = aggregate(LaneOp.ADD32, words)
    star.contribute(job, 0, words[0])
    answers = [star.contribute(job, 1, words[1], FIRST) for _ in range(3)]
    assert answers == [job.result(total), job.replay(1, total), job.replay(1, total)]


def test_duplicate_with_other_words_changes_nothing(star: Star) -> None:
    job = star.admit(2)
    words = job.words(16)
    star.contribute(job, 0, words[0])
    assert star.contribute(job, 0, words[0] + 1) == job.pending([0])
    assert star.contribute(job, 1, words[1]) == job.result(aggregate(LaneOp.ADD32, words))


def test_sums_at_thirty_per_cent_loss_are_exact(star: Star) -> None:
    """Each worker retransmits until it has the result; both directions of both ports lose packets.

    The target's losses differ from the twin's, so the test checks the target alone.
    """
    job = star.admit(2)
    words = job.words(2)
    total = aggregate(LaneOp.ADD32, words)
    for port in (0, 1):
        for ingress in (True, False):
            star.set_fault(port, ingress=ingress, share=0.3)
    served: set[int] = set()
    for _ in range(200):
        for worker in (0, 1):
            for port, frame in star.deliver(*job.contribution(worker, words[worker])):
                datagram = UdpFrame.unpack(frame)
                assert datagram is not None
                packet = Packet.unpack(datagram.payload)
                if packet.header.kind == Kind.RESULT:
                    assert (packet.payload == total).all()
                    assert packet.header.workers == job.all_members
                    served.add(port)
        if served == {0, 1}:
            return
    raise AssertionError(f"only ports {served} ever got the result")
