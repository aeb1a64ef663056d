# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What is told of the time that chunks take: how exact it is, what it counts, and how counts are put together."""

from __future__ import annotations

import math
import pickle
import random
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header, Packet
from lanesum.protocol.spec import Kind
from lanesum.transport.constants import LATENCY_BUCKETS
from lanesum.transport.latency import MAX_LATENCY_NS, LatencyHistogram
from lanesum.transport.round_sequence import RoundSequence
from lanesum.transport.stats import TransportStats
from lanesum.transport.ticket import JobTicket


def of(*seconds: float) -> LatencyHistogram:
    latency = LatencyHistogram()
    for one in seconds:
        latency.record(one)
    return latency


@given(seconds=st.floats(1e-6, 270.0))
def test_a_time_comes_back_as_exact_as_said(seconds: float) -> None:
    assert of(seconds).p50 == pytest.approx(seconds, rel=1 / 64)


def test_times_out_of_range_count_as_the_nearest() -> None:
    latency = of(-1.0, 1e9)
    assert latency.count == 2
    assert latency.p50 == pytest.approx(0, abs=1e-9)
    assert latency.p99 == pytest.approx(MAX_LATENCY_NS / 1e9, rel=1 / 64)


def test_percentiles_are_those_of_the_times() -> None:
    dice = random.Random(5)
    seconds = sorted(dice.lognormvariate(math.log(1e-3), 1.0) for _ in range(1000))
    latency = of(*seconds)
    assert latency.p50 == pytest.approx(seconds[499], rel=1 / 64)
    assert latency.p99 == pytest.approx(seconds[989], rel=1 / 64)
    assert latency.percentile(100) == pytest.approx(seconds[-1], rel=1 / 64)
    assert latency.percentile(0) == pytest.approx(seconds[0], rel=1 / 64)
    assert abs(statistics.median(seconds) / (latency.p50 or 0) - 1) < 0.03


def test_nothing_recorded_has_no_percentiles() -> None:
    assert (LatencyHistogram().count, LatencyHistogram().p50, LatencyHistogram().p99) == (0, None, None)


def test_counts_are_added_and_subtracted_and_copied() -> None:
    first, both = of(1e-3, 2e-3), of(1e-3, 2e-3, 5e-3)
    assert both - first == of(5e-3) != first
    assert first + of(5e-3) == both
    assert pickle.loads(pickle.dumps(both)) == both
    assert len(bytes(both)) == 8 * LATENCY_BUCKETS
    with pytest.raises(ConfigurationError, match="counts"):
        LatencyHistogram(bytes(8))


def test_stats_of_two_moments_have_a_difference() -> None:
    before = TransportStats(packets_sent=3, latency=of(1e-3))
    after = before.copy()
    after.packets_sent += 2
    after.latency.record(5e-3)
    assert before.latency.count == 1, "a snapshot does not change"
    since = after - before
    assert (since.packets_sent, since.latency) == (2, of(5e-3))
    assert since + before == after
    assert "latency" not in since.counts() and since.counts()["packets_sent"] == 2


def test_a_chunk_counts_from_its_first_send() -> None:
    """What was lost and sent again has taken as long as it did for whoever waits."""
    rounds = RoundSequence(JobTicket(job=1, tag=2, worker=0, workers=2, slots=4, accumulator_words=2))
    rounds.start(LaneOp.ADD32, np.arange(4, dtype=np.uint32))
    rounds.due(1.0)
    assert rounds.stats.latency.count == 0
    assert rounds.due(3.0)
    for chunk, now in ((1, 3.5), (0, 4.0), (0, 5.0)):
        header = Header(kind=Kind.RESULT, job=1, tag=2, chunk=chunk, workers=3, fan_in_workers=2)
        rounds.receive(Packet(header, np.zeros(2, np.uint32)).pack(), now)
    assert rounds.stats.latency == of(2.5, 3.0)
