# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Gathered rounds pass by the switch: no program sums them, and no packet of them completes an entry."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from lanesum.protocol import Flag
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import GATHERED

from .oracle import aggregate
from .star import FIRST, SERVER, Star, routed

NO_WORDS = np.zeros(0, np.uint32)


@pytest.mark.parametrize("op", [LaneOp.ADD32, LaneOp.MAX], ids=lambda op: op.name)
def test_gathered_contributions_are_routed_and_claim_nothing(star: Star, op: LaneOp) -> None:
    job = star.admit(2)
    place = dataclasses.replace(FIRST, op=op)
    words = job.words(1, op)
    size = place.round_words | GATHERED
    for worker, payload in enumerate((words[0], NO_WORDS)):
        port, frame = job.contribution(worker, payload, place, flags=Flag.BYPASS, racks=size)
        assert star.exchange(port, frame) == routed(frame, SERVER)
    assert star.decisions() == {"route_past": 2}
    assert star.contribute(job, 0, words[0], place) == []
    assert star.contribute(job, 1, words[1], place) == job.result(aggregate(op, words), place)


def test_header_alone_is_routed_without_bypass(star: Star) -> None:
    """So a switch never completes a chunk of two workers, whatever flags its packets have.

    Tofino's programs route the words, too: the mark does not fit their entries.
    """
    job = star.admit(2)
    size = FIRST.round_words | GATHERED
    owners = job.contribution(0, job.words(2)[0], racks=size)
    assert star.exchange(*owners) in ([], routed(owners[1], SERVER))
    for _ in range(3):
        port, frame = job.contribution(1, NO_WORDS, racks=size)
        assert star.exchange(port, frame) == routed(frame, SERVER)
    assert star.exchange(*owners) in (job.pending([0]), routed(owners[1], SERVER))
    assert star.slot_decisions() in ({"claim": 1, "report_pending": 1}, {})
