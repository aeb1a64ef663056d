# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Some hundred flips of ``make flips``: no wrong sum with check words, wrong ones without, and the page's tables."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from bmv2_tests.targets import open_target
from lanesum._internal.native import availability
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import CERTIFIED, MAX_ROUND_WORDS, SCATTERED
from lanesum.server.aggregator import Aggregator
from lanesum.transport.round_sequence import RoundSequence
from tests.flips import campaign
from tests.flips.__main__ import main
from tests.flips.campaign import (
    CHIP,
    CODECS,
    LANES,
    MEMORY,
    NATIVE_SERVER,
    PAYLOAD_UP,
    TARGETS,
    Outcomes,
    contributions_sum,
    open_bench,
    run,
)
from tests.flips.network import SLOTS, WORKERS, FlipNetwork
from tests.flips.report import DOCUMENT, RESULTS, document, tables
from tests.reference.slots import TofinoSlotTable
from tests.simulator.wire import flipped


def test_flips_of_certified_rounds_give_no_wrong_sum() -> None:
    done = run(500, 3)
    assert done.wrong == 0 and done.flips >= 500
    outcomes = list(done.outcomes.values())
    for name in ("unnoticed", "repeated", "retaken", "errors"):
        assert sum(getattr(one, name) for one in outcomes), name
    assert {target for target, _, _ in done.outcomes} >= {*TARGETS} - {NATIVE_SERVER}


def test_chip_sums_certified_rounds() -> None:
    """Their marks are within the bits of a round size that an entry stores."""
    with open_target(CHIP, 32) as switch:
        network = FlipNetwork(32, Aggregator(), RoundSequence, switch)
        for op in (LaneOp.ADD32, LaneOp.EXPAND8, LaneOp.MAX):
            words = op.shape.uplink_words(network.tickets[0].data_words(op)) * SLOTS
            contributions = [np.full(words, 1 + worker, np.uint32) for worker in range(WORKERS)]
            for result in network.reduce(op, contributions):
                np.testing.assert_array_equal(result, contributions_sum(op, contributions))
        assert switch.decisions()["contribute_and_complete"] == 3 * SLOTS
        assert switch.decisions()["route_other_size"] == 0
    assert MAX_ROUND_WORDS | SCATTERED | CERTIFIED < 1 << TofinoSlotTable.ROUND_WORD_BITS


def test_flips_of_plain_rounds_give_wrong_sums() -> None:
    wrong = {place for (_, place, _), one in run(200, 4, certified=False).outcomes.items() if one.wrong}
    assert {LANES, PAYLOAD_UP} <= wrong


@pytest.mark.skipif(availability().core is None, reason="the native extension is not installed")
def test_flip_in_native_memory_reaches_the_sum() -> None:
    outcomes = Outcomes()
    with open_bench(NATIVE_SERVER, random.Random(1)) as bench:
        flips = sum(bench.flip(MEMORY, CODECS["fixed"][0], outcomes) for _ in range(20))
    assert flips and outcomes == Outcomes(retaken=flips)


def test_unchecked_result_is_counted_as_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanesum.transport.certification.Certification.is_right", lambda *_arguments: True)
    outcomes = Outcomes()
    with open_bench(campaign.PYTHON_SERVER, random.Random(1)) as bench:
        assert all([bench.flip(campaign.PAYLOAD_DOWN, CODECS["fixed"][0], outcomes) for _ in range(20)])
    assert outcomes.wrong > 10


def test_flipped_changes_one_bit() -> None:
    assert flipped(b"\0\0", 9) == b"\0\2"


def test_command_writes_results_with_all_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "flips.json"
    assert main(["--flips", "100", "--processes", "1", "--seed", "5", "--out", str(out)]) == 0
    assert "0 wrong sums" in capsys.readouterr().out
    results = json.loads(out.read_text())
    assert results["flips"] == sum(row["flips"] for row in results["rows"]) >= 100
    assert "| embedded | registers |" in tables(results)


def test_page_has_the_tables_of_the_results() -> None:
    text = DOCUMENT.read_text()
    assert document(text) == text
    results = json.loads(RESULTS.read_text())
    assert results["wrong"] == 0 and results["flips"] >= 100_000
