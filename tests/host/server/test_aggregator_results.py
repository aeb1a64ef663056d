# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Answers of the server for jobs without a quorum, with one level and with two."""

from __future__ import annotations

import random

import pytest

from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Packet
from lanesum.protocol.spec import SCATTERED, Flag, Kind
from lanesum.server import ServerDecision
from lanesum.server.native_aggregator import make_aggregator
from tests.host.server.contributions import ROUND_WORDS, WORDS, Workers, flat, racks, served

pytestmark = pytest.mark.usefixtures("implementation")

PENDING_BYPASS = (Kind.PENDING, Flag.BYPASS)


def kinds(answers: dict[int, Packet]) -> dict[int, tuple[int, int]]:
    return {worker: (answer.header.kind, answer.header.flags) for worker, answer in answers.items()}


@pytest.mark.parametrize("op", LaneOp)
def test_result_in_one_level_is_exact(op: LaneOp) -> None:
    workers = Workers(served(flat(3)))
    assert workers.send(2, op=op, chunk=5) == workers.send(0, op=op, chunk=5) == {}
    answers = workers.send(1, op=op, chunk=5)
    assert list(answers) == [0, 1, 2]
    for answer in answers.values():
        header = answer.header
        assert workers.check(answer) == 0b111
        assert (header.kind, header.flags, header.workers, header.racks) == (Kind.RESULT, Flag.BYPASS, 0b111, 0)
        assert (header.fan_in_workers, header.fan_in_racks) == (3, 0)
        assert (header.chunk, header.slot, header.shadow, header.op) == (5, 1, 1, op)


def test_single_worker_completes_its_chunk() -> None:
    workers = Workers(served(flat(1)))
    assert workers.check(workers.send(0)[0]) == 1
    assert workers.aggregator.decisions == {ServerDecision.CLAIM_AND_COMPLETE: 1}


def test_duplicate_reports_pending_to_missing_workers() -> None:
    workers = Workers(served(flat(4)))
    workers.send(1)
    workers.send(2)
    answers = workers.send(1, flags=Flag.RETRANSMISSION)
    assert kinds(answers) == dict.fromkeys((0, 1, 3), PENDING_BYPASS)
    assert {answer.header.workers for answer in answers.values()} == {0b110}
    assert {answer.header.fan_in_workers for answer in answers.values()} == {4}
    assert workers.aggregator.decisions[ServerDecision.REPORT_PENDING] == 1


def test_replay_goes_to_the_sender_only() -> None:
    workers = Workers(served(flat(2)))
    workers.send(0)
    workers.send(1)
    answers = workers.send(0, flags=Flag.RETRANSMISSION)
    assert kinds(answers) == {0: (Kind.RESULT, Flag.BYPASS | Flag.RETRANSMISSION)}
    assert workers.check(answers[0]) == 0b11


def test_owner_of_a_scattered_chunk_refuses_its_sum() -> None:
    """The owner alone has the words, so its refusal is enough, and all contributions are requested again."""
    workers = Workers(served(flat(3)))
    chunk = {"chunk": 2, "racks": SCATTERED | ROUND_WORDS}
    for worker in range(3):
        answers = workers.send(worker, **chunk)
    assert [len(answers[worker].payload) for worker in range(3)] == [0, WORDS, 0]
    refused = Flag.BYPASS | Flag.OVERFLOW | Flag.RETRANSMISSION
    assert kinds(workers.send(0, flags=refused, **chunk)) == {0: (Kind.RESULT, Flag.BYPASS | Flag.RETRANSMISSION)}
    for _ in range(2):
        answers = workers.send(1, flags=refused, **chunk)
        assert kinds(answers) == dict.fromkeys(range(3), PENDING_BYPASS)
        assert {answer.header.workers for answer in answers.values()} == {0b010}
    assert workers.send(2, flags=Flag.BYPASS, **chunk) == {}
    answers = workers.send(0, flags=Flag.BYPASS, **chunk)
    assert list(answers) == [0, 1, 2]
    assert workers.check(answers[1]) == 0b111


def test_owner_alone_completes_the_sum_it_refused() -> None:
    workers = Workers(served(flat(1)))
    chunk = {"chunk": 1, "racks": SCATTERED | ROUND_WORDS}
    for flags in (0, Flag.BYPASS | Flag.OVERFLOW):
        assert workers.check(workers.send(0, flags=flags, **chunk)[0]) == 1
    assert workers.aggregator.decisions[ServerDecision.CONTRIBUTE_AND_COMPLETE] == 1


def test_result_repeats_flags_of_its_contributions() -> None:
    workers = Workers(served(flat(3)))
    workers.send(0, flags=Flag.COLLISION)
    workers.send(0, flags=Flag.RETRANSMISSION)  # a duplicate, which is not in the result
    workers.send(1, flags=Flag.ECN | Flag.OVERFLOW)
    result = workers.send(2)[0]
    assert result.header.flags == Flag.BYPASS | Flag.ECN | Flag.COLLISION
    assert workers.send(0)[0].header.flags == Flag.BYPASS | Flag.ECN | Flag.COLLISION | Flag.RETRANSMISSION

    # A new chunk begins without flags. A replay has the congestion flag of its own packet, but never a collision of its
    # own: workers choose the path of a slot by collisions, and all have to choose alike.
    for worker in range(2):
        workers.send(worker, chunk=8)
    assert workers.send(2, chunk=8)[0].header.flags == Flag.BYPASS
    again = workers.send(1, chunk=8, flags=Flag.ECN | Flag.COLLISION)[1]
    assert again.header.flags == Flag.BYPASS | Flag.ECN | Flag.RETRANSMISSION


@pytest.mark.parametrize("repeated", range(3))
def test_result_tells_that_a_contribution_was_retransmitted(repeated: int) -> None:
    workers = Workers(served(flat(3)))
    for worker in range(3):
        answers = workers.send(worker, flags=Flag.RETRANSMISSION if worker == repeated else 0)
    assert kinds(answers) == dict.fromkeys(range(3), (Kind.RESULT, Flag.BYPASS | Flag.RETRANSMISSION))


def test_ecn_mark_of_ipv4_header_sets_flag() -> None:
    workers = Workers(served(flat(2)))
    workers.aggregator.handle(workers.members.addresses[0], workers.packet(0), congested=True)
    assert workers.send(1)[0].header.flags == Flag.BYPASS | Flag.ECN


def test_newer_chunk_claims_entry_and_older_is_dropped() -> None:
    """An old epoch never touches a newer one (INV-3)."""
    workers = Workers(served(flat(2)))
    workers.send(0, chunk=8, epoch=0xFFFFFFFF)
    workers.send(0, chunk=0, epoch=0)  # newer, because the epoch wrapped
    assert workers.send(1, chunk=8, epoch=0xFFFFFFFF) == {}
    assert workers.aggregator.decisions[ServerDecision.DROP_LATE] == 1
    assert workers.check(workers.send(1, chunk=0, epoch=0)[0]) == 0b11


@pytest.mark.parametrize("fields", [{"racks": ROUND_WORDS + 4}, {"op": LaneOp.EXPAND8}])
def test_conflict_is_reported_to_all_workers(fields: dict[str, int]) -> None:
    workers = Workers(served(flat(3)))
    workers.send(0)
    answers = workers.send(2, **{"op": LaneOp.ADD32, **fields}, fan_in_workers=2)
    assert kinds(answers) == dict.fromkeys(range(3), (Kind.CONFLICT, 0))
    header = answers[1].header
    assert (header.racks, header.op) == (ROUND_WORDS, LaneOp.ADD32)
    assert (header.workers, header.fan_in_racks) == (
        fields.get("racks", ROUND_WORDS),
        fields.get("op", LaneOp.ADD32),
    )
    assert header.fan_in_workers == 2 and header.words == 0
    assert workers.aggregator.decisions[ServerDecision.REPORT_CONFLICT] == 1
    # Later contributions that agree with the owner get the same conflict: the chunk has no result any more.
    for worker in (1, 0):
        again = workers.send(worker)
        assert {one: answer.header for one, answer in again.items()} == dict.fromkeys(range(3), header)
    assert workers.aggregator.decisions[ServerDecision.REPORT_CONFLICT] == 3


@pytest.mark.parametrize("op", LaneOp)
def test_aggregate_is_merged_with_single_contributions(op: LaneOp) -> None:
    workers = Workers(served(flat(4), on_switches=True))
    workers.send(3, op=op)
    answers = workers.send(1, workers.aggregate(0b0111, op=op))
    assert kinds(answers) == dict.fromkeys(range(4), (Kind.RESULT, Flag.BYPASS))
    assert workers.check(answers[3]) == 0b1111
    # The switch retransmits it, so none of its workers has the result.
    again = workers.send(0, workers.aggregate(0b0111, op=op, flags=Flag.UPPER | Flag.RETRANSMISSION))
    assert kinds(again) == dict.fromkeys(range(3), (Kind.RESULT, Flag.BYPASS | Flag.RETRANSMISSION))


def test_overlapping_aggregate_reports_pending_with_bypass() -> None:
    workers = Workers(served(flat(4), on_switches=True))
    workers.send(0, workers.aggregate(0b0011))
    answers = workers.send(1, workers.aggregate(0b0110))
    assert kinds(answers) == dict.fromkeys((1, 2, 3), PENDING_BYPASS)
    assert workers.aggregator.decisions[ServerDecision.REPORT_OVERLAP] == 1
    workers.send(2, flags=Flag.BYPASS)
    assert workers.check(workers.send(3, flags=Flag.BYPASS)[0]) == 0b1111


def test_result_in_two_levels_names_racks() -> None:
    workers = Workers(served(racks(2, 3, 1), on_switches=True))
    by_rack = [workers.members.workers_in_racks(1 << rack) or 0 for rack in range(3)]
    first = [(rack & -rack).bit_length() - 1 for rack in by_rack]
    assert workers.send(first[0], workers.aggregate(by_rack[0])) == {}
    assert workers.send(first[1]) == {}

    answers = workers.send(first[1], flags=Flag.RETRANSMISSION)
    missing = workers.members.all_workers & ~by_rack[0] | 1 << first[1]
    assert kinds(answers) == {worker: PENDING_BYPASS for worker in range(6) if missing >> worker & 1}
    for worker, answer in answers.items():
        bitmap = 1 << workers.members.indices[first[1]].bit
        assert answer.header.workers == (bitmap if workers.members.indices[worker].rack == 1 else 0)
        assert (answer.header.racks, answer.header.fan_in_workers, answer.header.fan_in_racks) == (0b001, 0, 3)

    workers.send(first[2])
    answers = workers.send(first[1], workers.aggregate(by_rack[1]))
    assert list(answers) == list(range(6))
    header = answers[0].header
    assert workers.check(answers[0]) == workers.members.all_workers
    assert (header.flags, header.workers, header.racks, header.fan_in_racks) == (Flag.BYPASS, 0, 0b111, 3)


def test_aggregates_of_whole_racks_complete() -> None:
    workers = Workers(served(racks(2, 2, 2), on_switches=True))
    assert workers.send(0, workers.of_racks(0b011)) == {}
    assert kinds(workers.send(1, workers.of_racks(0b011))) == dict.fromkeys((1, 2, 5), PENDING_BYPASS)
    assert workers.check(workers.send(2, workers.of_racks(0b111))[0]) == workers.members.all_workers


def test_result_of_1024_workers_is_exact() -> None:
    workers = Workers(served(racks(*[32] * 32), on_switches=True))
    rng = random.Random(5)
    contributions: list[tuple[int, bytes]] = []
    for rack in range(32):
        members = [one for one in range(1024) if workers.members.indices[one].rack == rack]
        part = sum(1 << one for one in rng.sample(members, 20))
        contributions.append(((part & -part).bit_length() - 1, workers.aggregate(part)))
        contributions += [(one, workers.packet(one)) for one in members if not part >> one & 1]
    rng.shuffle(contributions)
    *early, last = contributions
    assert all(workers.send(*one) == {} for one in early)
    answers = workers.send(*last)
    assert len(answers) == 1024
    assert workers.check(answers[0]) == (1 << 1024) - 1
    assert answers[0].header.racks == 0xFFFFFFFF


def test_many_jobs_are_isolated() -> None:
    """Contributions and removal of a job have no effect on the others (INV-5)."""
    aggregator = make_aggregator()
    jobs = [
        Workers(served(flat(2, host=number), job=number, tag=number * 31, quorum=number % 2), aggregator, seed=number)
        for number in range(200)
    ]
    for chunk in range(3):
        for job in jobs:
            job.send(0, chunk=chunk)
        for job in jobs:
            assert job.check(job.send(1, chunk=chunk)[1]) == (0b11 if not job.job.quorum else 0b01)
    for job in jobs[::2]:
        aggregator.remove(job.job.job)
    assert jobs[0].send(0) == {} and jobs[1].send(0) != {}
    assert aggregator.refused == {"not a member": 1}


def test_admit_again_keeps_contributions() -> None:
    workers = Workers(served(flat(2)))
    workers.send(0)
    changed = served(flat(2), on_switches=True, joined_packets=True)
    workers.aggregator.admit(changed)
    assert workers.aggregator.jobs == {7: changed}
    assert workers.check(workers.send(1, workers.aggregate(0b11))[0]) == 0b11


def test_admit_new_tag_drops_contributions() -> None:
    workers = Workers(served(flat(2)))
    workers.send(0)
    workers.aggregator.admit(served(flat(2), tag=5))
    assert workers.send(1) == {}
    assert workers.aggregator.refused == {"wrong tag": 1}


def test_admit_changed_job_under_same_tag_raises() -> None:
    workers = Workers(served(flat(2)))
    with pytest.raises(ConfigurationError, match="gets a new tag"):
        workers.aggregator.admit(served(flat(3)))
    assert workers.aggregator.jobs == {7: workers.job}
