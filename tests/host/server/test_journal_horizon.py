# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A journal remembers how far the forgotten decisions went, where the kept ones alone would not tell."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lanesum.aggregation.slots import Owner
from lanesum.protocol import Header, Kind, Packet
from lanesum.server.history import History
from lanesum.server.jobs import Place, ServerJob
from lanesum.server.journal import Journal
from lanesum.server.roster import Roster

MEMBERS = {(f"10.0.0.{worker + 1}", 40000): Place(worker, 0, worker) for worker in range(2)}
JOB = ServerJob(job=1, tag=2, members=MEMBERS, slots=1, accumulator_words=2, quorum=1, history=2)


def open_history(folder: Path) -> tuple[Journal, History]:
    journal = Journal(folder, JOB, Roster(JOB))
    return journal, History(journal.keep, journal.write, journal.recorded)


def decide(history: History, chunk: int) -> None:
    header = Header(kind=Kind.RESULT, job=1, tag=2, chunk=chunk, workers=1)
    history.record(Owner(0, 1, 2, 0, chunk, 20), Packet(header, np.zeros(2, np.uint32)).pack())


def test_what_was_forgotten_out_of_order_stays_forgotten(tmp_path: Path) -> None:
    journal, history = open_history(tmp_path)
    for chunk in (5, 1, 2, 3):
        decide(history, chunk)
    assert history.forgot(Header(chunk=4))
    journal.close()
    journal, history = open_history(tmp_path)
    assert history.forgot(Header(chunk=4)) and history.forgot(Header(chunk=5))
    assert not history.forgot(Header(chunk=6))
    journal.close()
