# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Long waits are logged once, with the workers that are missing, and do not change the deadline."""

from __future__ import annotations

import logging
import threading

import numpy as np
import pytest

from lanesum.session import Session
from lanesum.transport import long_wait
from lanesum.transport.errors import AggregationTimeoutError
from tests.host.torch.ranks import served_job
from tests.waiting import wait_until, with_longer_deadlines

pytestmark = pytest.mark.usefixtures("implementation")
VECTOR = np.ones(1000, np.float32)


@pytest.fixture(autouse=True)
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_wait, "LOG_WAIT_S", 0.3)


def test_wait_for_a_missing_worker_names_it(caplog: pytest.LogCaptureFixture) -> None:

    def attempt(deadline_s: float) -> None:
        caplog.clear()
        with (
            served_job(2, "thc", absent=(1,)) as (ticket,),
            Session(ticket, codec="thc", deadline_s=deadline_s) as session,
            pytest.raises(AggregationTimeoutError),
        ):
            session.all_reduce_async(VECTOR).result()
        assert len(caplog.records) == 1
        (record,) = caplog.records
        assert (record.levelno, record.name.split(".")[0]) == (logging.WARNING, "lanesum")
        assert record.message == "Worker 0 of job 7 has waited 0.3 s in round 0 for worker 1."

    with_longer_deadlines(attempt)


def test_wait_for_a_silent_server_names_its_address(caplog: pytest.LogCaptureFixture) -> None:
    with (
        served_job(1, "thc", loss=lambda *_: True) as (ticket,),
        Session(ticket, codec="thc", deadline_s=1.0) as session,
        pytest.raises(AggregationTimeoutError),
    ):
        session.all_reduce_async(VECTOR).result()
    (record,) = caplog.records
    assert record.message.endswith(f"for {ticket.server_names}, which did not answer at all.")


def test_late_worker_is_logged_and_its_sum_arrives(caplog: pytest.LogCaptureFixture) -> None:
    with (
        served_job(2, "fixed") as tickets,
        Session(tickets[0], codec="fixed", deadline_s=200.0) as first,
        Session(tickets[1], codec="fixed") as second,
    ):

        def sum_late() -> None:
            wait_until(lambda: caplog.records)
            second.all_reduce_async(VECTOR).result()

        late = threading.Thread(target=sum_late)
        late.start()
        assert first.all_reduce_async(VECTOR).result()[0] == 2
        late.join()
    assert [record.message for record in caplog.records][:1] == [
        "Worker 0 of job 7 has waited 0.3 s in round 0 for worker 1."
    ]


def test_short_wait_is_not_logged(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_wait, "LOG_WAIT_S", 200.0)
    with served_job(1, "thc") as (ticket,), Session(ticket, codec="thc") as session:
        session.all_reduce_async(VECTOR).result()
    assert caplog.records == []
