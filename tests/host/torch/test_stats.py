# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of the hook: phases, dictionary, profiler ranges, and the warning of an unused state."""

from __future__ import annotations

import importlib.metadata
import json
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

import lanesum.torch
from lanesum.session import Session
from lanesum.transport.errors import AggregationTimeoutError
from tests.host.torch.buckets import FakeBucket, average, parameters
from tests.host.torch.ranks import served_job
from tests.paths import ROOT

SIZE = 50_000


@pytest.fixture
def session() -> Iterator[Session]:
    with served_job(1, "thc") as (ticket,), Session(ticket, codec="thc", deadline_s=200.0) as session:
        yield session


@pytest.mark.parametrize("codec", ["thc", "fixed", "sketch", "powersgd"])
def test_phases_are_shares_of_busy_time(session: Session, codec: str) -> None:
    with lanesum.torch.State(session, codec=codec) as state:
        for _ in range(3):
            average(state, FakeBucket(torch.randn(SIZE), parameters(SIZE)))
        stats = state.stats
    phases = (stats.encode_s, stats.network_s, stats.decode_s)
    assert min(phases) > 0
    assert sum(phases) <= stats.busy_s


def test_wait_for_a_missing_worker_is_network_time() -> None:
    with served_job(2, "thc", absent=(1,)) as (ticket,), Session(ticket, codec="thc", deadline_s=0.3) as alone:
        state = lanesum.torch.State(alone)
        with pytest.raises(AggregationTimeoutError):
            average(state, FakeBucket(torch.randn(SIZE), parameters(SIZE)))
        assert state.session.phases.network.seconds > 0.25


def test_dictionary_is_flat_numbers_that_agree_with_counts(session: Session) -> None:
    with lanesum.torch.State(session) as state:
        assert state.stats.as_dict()["ratio"] == 0
        average(state, FakeBucket(torch.randn(SIZE), parameters(SIZE)))
        figures, transport = state.stats.as_dict(), state.stats.transport
        assert state.stats.version == importlib.metadata.version("lanesum")
    assert json.loads(json.dumps(figures)) == figures
    assert all(isinstance(one, int | float) for one in figures.values())
    assert (figures["buckets"], figures["bytes_fp32"]) == (1, 4 * SIZE)
    assert (figures["bytes_up"], figures["bytes_down"]) == (transport.bytes_sent, transport.bytes_received)
    assert figures["ratio"] == pytest.approx(8 * SIZE / (transport.bytes_sent + transport.bytes_received))
    # 4 bits up and 8 bits down for 32 each way, less headers and norms.
    assert (transport.retransmissions > 0 or figures["ratio"] > 3) and figures["ratio"] < 64 / 12


def test_chunks_without_switch_are_those_of_the_server(session: Session) -> None:
    with lanesum.torch.State(session) as state:
        average(state, FakeBucket(torch.randn(SIZE), parameters(SIZE)))
        figures = state.stats.as_dict()
    assert figures["chunks_by_switch"] == 0
    assert figures["chunks_by_server"] == session.stats.latency.count > SIZE // 256


def test_profiler_of_all_threads_records_phases(session: Session) -> None:
    every_thread = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    with lanesum.torch.State(session) as state:
        average(state, FakeBucket(torch.randn(SIZE), parameters(SIZE)))
        with profile(activities=[ProfilerActivity.CPU], experimental_config=every_thread) as recorded:
            average(state, FakeBucket(torch.randn(SIZE), parameters(SIZE)))
        average(state, FakeBucket(torch.randn(SIZE), parameters(SIZE)))
    names = {event.key for event in recorded.key_averages()}
    assert names >= {"lanesum::encode", "lanesum::network", "lanesum::decode"}


def test_close_after_no_bucket_warns_once_with_reasons(session: Session, caplog: pytest.LogCaptureFixture) -> None:
    state = lanesum.torch.State(session)
    state.close()
    state.close()
    (record,) = caplog.records
    assert record.name.split(".")[0] == "lanesum" and record.levelno == logging.WARNING
    for reason in ("0 buckets", "backward()", "no_sync()", "Lightning"):
        assert reason in record.message


def test_close_after_a_bucket_does_not_warn(session: Session, caplog: pytest.LogCaptureFixture) -> None:
    with lanesum.torch.State(session) as state:
        average(state, FakeBucket(torch.ones(8), parameters(8)))
    assert caplog.records == []


_NEVER_CLOSED = """
import sys, lanesum.torch
from lanesum.session import Session
from lanesum.transport import JobTicket
state = lanesum.torch.State(Session(JobTicket.from_json(sys.argv[1])))
"""


def test_process_without_backward_warns_at_its_end() -> None:
    with served_job(1, "thc") as (ticket,):
        command = [sys.executable, "-c", _NEVER_CLOSED, ticket.to_json()]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert ended.returncode == 0
    assert ended.stderr.startswith("Worker 0 of job 7 ends after 0 buckets") and ended.stderr.count("\n") == 1
