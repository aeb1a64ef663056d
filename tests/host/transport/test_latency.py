# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Latency histogram: precision, percentiles, and arithmetic of counts."""

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


def histogram(*seconds: float) -> LatencyHistogram:
    latency = LatencyHistogram()
    for one in seconds:
        latency.record(one)
    return latency


@given(seconds=st.floats(1e-6, 270.0))
def test_latency_percentile_has_stated_precision(seconds: float) -> None:
    assert histogram(seconds).p50 == pytest.approx(seconds, rel=1 / 64)


def test_latency_out_of_range_counts_as_nearest() -> None:
    latency = histogram(-1.0, 1e9)
    assert latency.count == 2
    assert latency.p50 == pytest.approx(0, abs=1e-9)
    assert latency.p99 == pytest.approx(MAX_LATENCY_NS / 1e9, rel=1 / 64)


def test_percentiles_match_sorted_latencies() -> None:
    rng = random.Random(5)
    seconds = sorted(rng.lognormvariate(math.log(1e-3), 1.0) for _ in range(1000))
    latency = histogram(*seconds)
    assert latency.p50 == pytest.approx(seconds[499], rel=1 / 64)
    assert latency.p99 == pytest.approx(seconds[989], rel=1 / 64)
    assert latency.percentile(100) == pytest.approx(seconds[-1], rel=1 / 64)
    assert latency.percentile(0) == pytest.approx(seconds[0], rel=1 / 64)
    assert abs(statistics.median(seconds) / (latency.p50 or 0) - 1) < 0.03


def test_empty_histogram_has_no_percentiles() -> None:
    assert (LatencyHistogram().count, LatencyHistogram().p50, LatencyHistogram().p99) == (0, None, None)


def test_histograms_add_subtract_and_pickle() -> None:
    first, both = histogram(1e-3, 2e-3), histogram(1e-3, 2e-3, 5e-3)
    assert both - first == histogram(5e-3) != first
    assert first + histogram(5e-3) == both
    assert pickle.loads(pickle.dumps(both)) == both
    assert len(bytes(both)) == 8 * LATENCY_BUCKETS
    with pytest.raises(ConfigurationError, match="A latency histogram of 1 counts: expected "):
        LatencyHistogram(bytes(8))


def test_stats_difference_counts_since_snapshot() -> None:
    before = TransportStats(packets_sent=3, latency=histogram(1e-3))
    after = before.copy()
    after.packets_sent += 2
    after.latency.record(5e-3)
    assert before.latency.count == 1, "a snapshot does not change"
    since = after - before
    assert (since.packets_sent, since.latency) == (2, histogram(5e-3))
    assert since + before == after
    assert "latency" not in since.counts() and since.counts()["packets_sent"] == 2


def test_chunk_latency_counts_from_first_transmission() -> None:
    """A lost and retransmitted chunk counts with the whole time that its caller waits."""
    rounds = RoundSequence(JobTicket(job=1, tag=2, worker=0, workers=2, slots=4, accumulator_words=2))
    rounds.start(LaneOp.ADD32, np.arange(4, dtype=np.uint32))
    rounds.due(1.0)
    assert rounds.stats.latency.count == 0
    assert rounds.due(3.0)
    for chunk, now in ((1, 3.5), (0, 4.0), (0, 5.0)):
        header = Header(kind=Kind.RESULT, job=1, tag=2, chunk=chunk, workers=3, fan_in_workers=2)
        rounds.receive(Packet(header, np.zeros(2, np.uint32)).pack(), now)
    assert rounds.stats.latency == histogram(2.5, 3.0)
