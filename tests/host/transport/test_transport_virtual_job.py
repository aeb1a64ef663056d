# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Whole jobs in virtual time: sums are exact and no worker hangs, whatever network and aggregation points do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lanesum.protocol import Flag, Header, Kind, LaneOp
from lanesum.transport.constants import MIN_PTO_S
from lanesum.transport.errors import MismatchError, ResultGoneError, RoundSize
from tests.host.transport.virtual_job import PATH_S, VirtualJob, check_sums, random_plans

pytestmark = pytest.mark.usefixtures("implementation")

OPS = (LaneOp.ADD32, LaneOp.EXPAND8, LaneOp.MAX, LaneOp.OR, LaneOp.ADD8X4)
sizes = st.lists(st.integers(0, 24), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    workers=st.integers(1, 3),
    slots=st.integers(1, 5),
    window=st.integers(1, 8),
    loss=st.sampled_from([0.0, 0.05, 0.3]),
    duplicates=st.sampled_from([0.0, 0.3]),
    jitter_s=st.sampled_from([0.0, 2e-3]),
    switch=st.booleans(),
    sizes=sizes,
    scattered=st.sets(st.integers(0, 5)),
    gathered=st.sets(st.integers(0, 5)),
)
@example(
    # Windows shrink to one packet each while they hold different chunks: then the first ones waited for ever.
    seed=78134, workers=2, slots=4, window=4, loss=0.3, duplicates=0.0, jitter_s=0.002, switch=False, sizes=[7, 16],
    scattered=set(), gathered=set(),
)  # fmt: skip
def test_job_on_any_network_has_exact_sums(
    seed: int,
    workers: int,
    slots: int,
    window: int,
    loss: float,
    duplicates: float,
    jitter_s: float,
    switch: bool,
    sizes: list[int],
    scattered: set[int],
    gathered: set[int],
) -> None:
    gathered = {number for number in gathered - scattered if not OPS[number % len(OPS)].shape.widens}
    sizes = [size * workers if number in scattered else size for number, size in enumerate(sizes)]
    job = VirtualJob(
        random_plans(seed, workers, sizes, OPS),
        scattered=scattered,
        gathered=gathered,
        seed=seed,
        loss=loss,
        duplicates=duplicates,
        jitter_s=jitter_s,
        switch=switch,
        window=window,
        slots=slots,
    )
    job.run()
    check_sums(job)
    assert switch or all(worker.stats.server_results == worker.stats.chunks for worker in job.workers)


def test_switch_without_loss_completes_every_chunk() -> None:
    job = VirtualJob(
        random_plans(1, 2, [7, 16], OPS), seed=1, loss=0.0, duplicates=0.0, jitter_s=0.0, switch=True, window=4, slots=4
    )
    job.run()
    check_sums(job)
    assert all(worker.stats.server_results == 0 < worker.stats.chunks for worker in job.workers)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    workers=st.integers(2, 3),
    slots=st.integers(1, 4),
    loss=st.sampled_from([0.0, 0.1]),
    switch=st.booleans(),
    restarts=st.lists(st.floats(0, 40 * PATH_S), min_size=1, max_size=4),
)
def test_restarted_aggregation_points_cost_only_time(
    seed: int, workers: int, slots: int, loss: float, switch: bool, restarts: list[float]
) -> None:
    """Their state is lost, with results that some workers lack: retransmit buffers restore it."""
    job = VirtualJob(random_plans(seed, workers, [10, 3, 17, 1]), seed=seed, loss=loss, switch=switch, slots=slots)
    for when in restarts:
        job.at(when, job.restart)
    job.run()
    check_sums(job)


def test_words_of_owner_come_back_after_restart() -> None:
    """Another worker lacks them, and the point has lost them: their owner, which has gone on, retransmits them."""

    def lost(worker: int, sends: bool, header: Header) -> bool:
        return worker == 1 and not sends and header.kind == Kind.RESULT and header.chunk == 2 and job.now < 5e-3

    job = VirtualJob(random_plans(3, 3, [12]), lost=lost, gathered=(0,), slots=4)
    job.at(5e-3, job.restart)
    job.run()
    check_sums(job)
    assert [worker.stats.answered_pendings > 0 for worker in job.workers] == [True, False, True]


def test_owner_gets_lost_sum_after_restart() -> None:
    """The others have the header-only result, and may have sent later chunks; the point has lost the sum."""

    def lost(worker: int, sends: bool, header: Header) -> bool:
        return worker == 1 and not sends and header.kind == Kind.RESULT and header.chunk == 1 and job.now < 5e-3

    job = VirtualJob(random_plans(3, 3, [36]), lost=lost, scattered=(0,), slots=4)
    job.at(5e-3, job.restart)
    job.run()
    check_sums(job)
    assert [worker.stats.answered_pendings > 0 for worker in job.workers] == [True, False, True]


def test_result_lost_before_restart_comes_from_retransmit_buffers() -> None:
    """Worker 1 lacks the last result of the round before, and the others are a round further."""
    lost_until = 20 * PATH_S

    def lost(worker: int, sends: bool, header: Header) -> bool:
        return worker == 1 and not sends and header.chunk == 1 and job.now < lost_until

    job = VirtualJob(random_plans(1, 3, [4, 4]), lost=lost)
    job.at(lost_until / 2, job.restart)
    job.run()
    check_sums(job)
    assert all(job.workers[one].stats.answered_pendings > 0 for one in (0, 2))


@pytest.mark.parametrize("switch", [False, True], ids=["server", "switch"])
def test_wait_for_late_worker_counts_no_loss(switch: bool) -> None:
    job = VirtualJob(random_plans(2, 3, [40, 40]), switch=switch, starts={1: 1.0})
    job.run()
    check_sums(job)
    for worker in (job.workers[0], job.workers[2]):
        causes = worker.stats.retransmission_causes()
        assert worker.stats.retransmissions == causes["peer_late"] + causes["needless"]
        assert causes["peer_late"] > 0 and causes["lost"] == 0


def test_lost_contributions_count_as_losses() -> None:
    """Every second packet of worker 0 is lost once, and no worker is late."""

    def lost(worker: int, sends: bool, header: Header) -> bool:
        first = worker == 0 and sends and header.chunk % 2 == 1 and not header.flags & Flag.RETRANSMISSION
        losses[0] += first
        return first

    losses = [0]
    job = VirtualJob(random_plans(2, 2, [40]), lost=lost)
    job.run()
    check_sums(job)
    assert job.workers[0].stats.retransmission_causes()["lost"] >= losses[0] > 0


@pytest.mark.parametrize("loss", [0.05, 0.1])
def test_loss_is_repaired_within_round_trips(loss: float) -> None:
    """Reordering shows losses long before the timers, and the congestion window does not shrink."""
    chunks = 2000
    job = VirtualJob(random_plans(3, 2, [2 * chunks]), seed=3, loss=loss, slots=64, window=32)
    job.run()
    check_sums(job)
    round_trips = job.now / (2 * PATH_S)
    assert round_trips < 20 * chunks / 32
    for worker in job.workers:
        assert worker.rounds._link.congestion.congestion_window == 32


def test_worker_without_switch_path_makes_all_bypass_it() -> None:
    def lost(worker: int, sends: bool, header: Header) -> bool:
        return worker == 0 and sends and not header.flags & Flag.BYPASS

    job = VirtualJob(random_plans(5, 3, [6]), lost=lost, switch=True)
    job.run()
    check_sums(job)
    assert all(worker.stats.bypasses > 0 for worker in job.workers)


def test_contributions_at_two_points_are_combined() -> None:
    """The first ones of worker 1 go to the server, those of the others to the switch."""
    job = VirtualJob(random_plans(5, 3, [6]), switch=True)
    slots = job.workers[1].rounds._link.slot_backoff
    for slot in range(4):
        slots.on_result(slot, collided=True)
    job.run()
    check_sums(job)


def test_worker_unknown_to_switch_costs_timer_per_window() -> None:
    """Its contributions are at the server, the others' at the switch; after one request they send all there."""
    chunks, window = 600, 32
    unknown: set[int] = set()
    job = VirtualJob(random_plans(5, 3, [2 * chunks]), switch=True, unknown=unknown, slots=64, window=window)
    job.at(10 * PATH_S, lambda: unknown.add(1))
    job.run()
    check_sums(job)
    assert job.now < 2 * MIN_PTO_S * chunks / window


def late_worker(starts: float, rounds: int, **fields: int) -> VirtualJob:
    job = VirtualJob(random_plans(9, 3, [6] * rounds), starts={2: starts}, quorum=2, **fields)
    job.run()
    return job


def test_late_worker_receives_quorum_results() -> None:
    job = late_worker(100 * PATH_S, 5)
    check_sums(job)
    for worker in job.workers:
        assert worker.contributors[0].tolist() == [[3], [3], [3]]
        assert worker.stats.partial_results > 0


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    loss=st.sampled_from([0.0, 0.1]),
    jitter_s=st.sampled_from([0.0, 3e-3]),
    starts=st.floats(0, 50 * PATH_S),
    quorum=st.integers(0, 3),
    places=st.sampled_from([(), ((0, 0), (0, 1), (1, 0)), ((3, 7), (0, 31), (3, 0))]),
    scattered=st.sets(st.sampled_from([0, 2])),
    gathered=st.sets(st.sampled_from([1, 3])),
)
def test_levels_and_quorums_on_any_network_agree(
    seed: int,
    loss: float,
    jitter_s: float,
    starts: float,
    quorum: int,
    places: tuple[tuple[int, int], ...],
    scattered: set[int],
    gathered: set[int],
) -> None:
    plans = random_plans(seed, 3, [6, 11, 3, 5])
    job = VirtualJob(
        plans,
        seed=seed,
        loss=loss,
        jitter_s=jitter_s,
        starts={2: starts},
        quorum=quorum,
        places=places,
        scattered=scattered,
        gathered=() if quorum in (1, 2) else gathered,
    )
    job.run()
    check_sums(job)


def test_worker_too_late_for_quorum_raises() -> None:
    """The server keeps results of quorums for a while only."""
    job = VirtualJob(random_plans(9, 3, [6] * 20), starts={2: 5.0}, quorum=2, history=8)
    job.run()
    error = job.workers[2].error
    assert isinstance(error, ResultGoneError)
    assert "worker 2 is too late" in str(error) and "Join the job again" in str(error)
    assert [len(worker.results) for worker in job.workers] == [20, 20, 0]


@pytest.mark.parametrize(("op", "words"), [(LaneOp.ADD32, 7), (LaneOp.ADD32, 5), (LaneOp.OR, 6), (LaneOp.ADD32, 0)])
def test_mismatch_is_raised_everywhere_with_both_sizes(op: LaneOp, words: int) -> None:
    """Also if both sizes need the same number of packets; 0 words are those of a worker that leaves."""
    plans = random_plans(2, 3, [4, 6])
    plans[1][1] = (op, np.zeros(words, np.uint32))
    job = VirtualJob(plans)
    job.run()
    two = {RoundSize(LaneOp.ADD32, 6), RoundSize(op, words)}
    for worker in job.workers:
        assert isinstance(worker.error, MismatchError)
        assert {worker.error.brought, worker.error.expected} == two
        assert worker.error.worker in (0, 1, 2)
        assert str(RoundSize(op, words)) in str(worker.error) and "6 words for ADD32" in str(worker.error)
        assert f"worker {worker.ticket.worker} itself has" in str(worker.error)
        assert worker.stats.conflicts == 1 and len(worker.results) == 1


@pytest.mark.parametrize("late", [0, 2])
@pytest.mark.parametrize("switch", [False, True])
def test_worker_after_conflict_receives_it_too(late: int, switch: bool) -> None:
    """The others have ended; the late one agrees with one of them, and only the server has received the other."""
    plans = random_plans(2, 3, [6])
    plans[1][0] = (LaneOp.ADD32, np.zeros(7, np.uint32))
    job = VirtualJob(plans, switch=switch, starts={late: 1.0})
    job.run()
    two = {RoundSize(LaneOp.ADD32, 6), RoundSize(LaneOp.ADD32, 7)}
    for worker in job.workers:
        assert isinstance(worker.error, MismatchError)
        assert {worker.error.brought, worker.error.expected} == two
    assert job.now < 1.5


def test_leave_waits_for_worker_without_last_result() -> None:
    """The aggregation point restarts just after the last round; no worker leaves before all have all results."""
    lost_until = 12 * PATH_S

    def lost(worker: int, sends: bool, header: Header) -> bool:
        return worker == 1 and not sends and header.kind == Kind.RESULT and header.epoch == 1 and job.now < lost_until

    job = VirtualJob(random_plans(4, 2, [4, 4, 0]), lost=lost)
    job.at(lost_until / 2, job.restart)
    while not all(worker.done for worker in job.workers):
        job.run(until=job.now + PATH_S)
        for worker in job.workers:
            worker.gone = worker.done
    check_sums(job)
    assert job.workers[0].stats.answered_pendings > 0
    # Without the empty last round worker 0 would have ended by then.
    assert len(job.workers[0].results) == 3


@pytest.mark.parametrize("sends", [True, False], ids=["contributions", "results"])
@pytest.mark.parametrize("switch", [False, True])
def test_lost_burst_costs_one_timeout(sends: bool, switch: bool) -> None:
    """A full queue drops the end of the burst, on the uplink or the downlink."""
    first: set[int] = set()

    def lost(worker: int, sent: bool, header: Header) -> bool:
        at_the_end = worker == 0 and sent == sends and header.kind in (Kind.CONTRIBUTION, Kind.RESULT)
        if not at_the_end or header.chunk < 30 or header.chunk in first:
            return False
        first.add(header.chunk)
        return True

    plans = random_plans(1, 2, [250], (LaneOp.ADD32,))
    job = VirtualJob(plans, lost=lost, slots=256, window=256, accumulator_words=2, switch=switch)
    job.run()
    check_sums(job)
    assert len(first) == 95
    # One timeout, then a round trip for twice as many chunks each time, instead of 95 timeouts.
    assert job.now < 2 * MIN_PTO_S + 20 * PATH_S
    assert job.workers[0].stats.retransmissions < 2 * len(first)


@pytest.mark.parametrize("switch", [False, True])
def test_late_workers_on_slow_links_cause_few_retransmissions(switch: bool) -> None:
    """A window takes longer to leave than the timeout, and a probe waits behind it: its results prove no loss."""
    plans = random_plans(1, 4, [70 * 2] * 20)
    job = VirtualJob(plans, slots=64, window=64, pause_s=0.05, packet_s=4e-4, switch=switch)
    job.run()
    check_sums(job)
    retransmissions = sum(worker.stats.retransmissions for worker in job.workers)
    assert retransmissions <= 0.01 * sum(worker.stats.packets_sent for worker in job.workers)
