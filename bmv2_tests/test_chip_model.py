# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The assembled binary on the chip's model beside executor and reference; see ``chip_frames``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lanesum.protocol import LaneOp
from lanesum_switch.api import PacketOut

from .chip_frames import Trio, compare, trio
from .chip_model import MODEL_PROFILES, SUITE_TARGETS, model_target
from .jobs import Place
from .star import Star

pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=SUITE_TARGETS)
def running_trio(request: pytest.FixtureRequest) -> Iterator[Trio]:
    with trio(request.param) as star:
        yield star


@pytest.mark.parametrize("seed", range(4))
def test_model_with_random_frames_sends_those_of_executor_and_reference(running_trio: Trio, seed: int) -> None:
    before = running_trio.frames
    compare(running_trio, seed)
    assert running_trio.frames > before


def test_comparison_with_wrong_table_entry_fails(running_trio: Trio, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: every member has the bit of the next worker."""
    harness = running_trio.model.switch.harness
    run = harness.run
    monkeypatch.setattr(harness, "run", lambda commands: run(c.replace("worker:1,", "worker:2,") for c in commands))
    with pytest.raises(AssertionError, match="differs from the reference"):
        compare(running_trio, 0)


def test_comparison_with_wrong_executor_fails(running_trio: Trio, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: the executor's answers to port 1 have one bit of the last word inverted."""
    process = running_trio.executor.switch.process

    def wrong(port: int, frame: bytes) -> list[PacketOut]:
        return [PacketOut(o.port, o.frame[:-1] + bytes([o.frame[-1] ^ (o.port == 1)])) for o in process(port, frame)]

    monkeypatch.setattr(running_trio.executor.switch, "process", wrong)
    with pytest.raises(AssertionError, match="the executor differs from the model"):
        compare(running_trio, 0)


@pytest.mark.parametrize("name", [name for name in MODEL_PROFILES if name not in SUITE_TARGETS])
def test_other_profiles_give_the_sums_of_the_reference(name: str) -> None:
    with model_target(name) as target:
        star = Star(target)
        for _ in star.scope():
            job = star.admit(3)
            for chunk, op in enumerate((LaneOp.ADD32, LaneOp.EXPAND8, LaneOp.OR, LaneOp.MAX)):
                for worker, words in enumerate(job.words(chunk, op)):
                    out = star.contribute(job, worker, words, Place(0, chunk, chunk, op=op))
                    assert len(out) == (3 if worker == 2 else 0)
