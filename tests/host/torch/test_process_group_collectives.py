# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Every collective, operation, data type and layout by gloo and by backend ``lanesum``; the tables of the page.

``LANESUM_WRITE_TABLES=1`` writes the tables to docs/collectives.md instead of comparing them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
import torch

from lanesum_lab.markdown import markdown_table, replace_generated
from tests.host.torch.collective_cases import (
    COLLECTIVES,
    LAYOUTS,
    OPERATIONS,
    RANKS,
    TYPES,
    WITHOUT_TENSORS,
    outcomes,
)
from tests.host.torch.controllers import controlled
from tests.host.torch.ranks import Ranks
from tests.paths import ROOT

PAGE = ROOT / "docs" / "collectives.md"
# The tables are those of this PyTorch; another one may refuse other tensors.
PYTORCH = "2.13"
#: Cases that gloo serves and lanesum refuses.
REFUSED = {("expanded", "SUM"): "error ConfigurationError", ("`monitored_barrier`", "objects"): "error"}
_FAILED = "error"


def failed(outcome: Any) -> bool:
    return isinstance(outcome, str) and outcome.startswith(_FAILED)


class Comparison:
    """Outcomes of all ranks by both backends."""

    def __init__(self, by_gloo: Sequence[dict[Any, Any]], by_lanesum: Sequence[dict[Any, Any]]) -> None:
        self.cases = list(by_gloo[0])
        self._gloo = {case: [outcome[case][0] for outcome in by_gloo] for case in self.cases}
        self._lanesum = {case: [outcome[case][0] for outcome in by_lanesum] for case in self.cases}
        self._joined = {case: by_lanesum[0][case][1] for case in self.cases}

    def check(self, case: tuple[str, str]) -> None:
        """Check that lanesum does as gloo, or better."""
        by_gloo, by_lanesum = self._gloo[case], self._lanesum[case]
        if case in REFUSED:
            assert by_lanesum == [REFUSED[case]] * RANKS and not failed(by_gloo[0])
        elif failed(by_gloo[0]):
            assert len(set(map(failed, by_lanesum))) == 1, (case, by_lanesum)
        elif case[0] == "every second element":
            # gloo reads and writes the elements that are next to each other in memory.
            assert by_lanesum == self._lanesum["contiguous", case[1]] and by_gloo != by_lanesum
        else:
            assert by_lanesum == by_gloo, case

    def cell(self, case: tuple[str, str]) -> str:
        """Return what lanesum does, and what gloo does where that differs."""
        by_gloo, by_lanesum = self._gloo[case], self._lanesum[case]
        if failed(by_lanesum[0]):
            typed = by_lanesum[0].removeprefix(_FAILED).strip()
            return f"{typed or _FAILED}{'' if failed(by_gloo[0]) else '; gloo works'}"
        done = "lanesum" if self._joined[case] else "gloo"
        wrong = "" if by_gloo == by_lanesum else "; gloo: error" if failed(by_gloo[0]) else "; gloo: wrong sums"
        return done + wrong

    def table(self, title: str, names: Iterable[str], columns: Sequence[str]) -> str:
        rows = [[name, *[self.cell((name, column)) for column in columns]] for name in names]
        return markdown_table([title, *columns], rows)


@pytest.fixture(scope="module")
def comparison(four_ranks: Ranks) -> Comparison:
    found = []
    for backend in ("gloo", "lanesum"):
        with controlled(RANKS) as (_, variables):
            found.append(four_ranks.run(outcomes, list(range(RANKS)), variables, backend))
    return Comparison(*found)


def test_collectives_do_as_gloo_or_refuse(comparison: Comparison) -> None:
    assert len(comparison.cases) > 250
    for case in comparison.cases:
        comparison.check(case)


@pytest.mark.skipif(not torch.__version__.startswith(PYTORCH), reason="The tables are those of another PyTorch.")
def test_tables_of_page_are_the_outcomes(comparison: Comparison) -> None:
    before = PAGE.read_text()
    text = replace_generated(before, "operations", comparison.table("`all_reduce`", OPERATIONS, TYPES))
    text = replace_generated(text, "layouts", comparison.table("float32 tensor", LAYOUTS, ("SUM", "AVG")))
    text = replace_generated(text, "collectives", comparison.table("collective", COLLECTIVES, TYPES))
    text = replace_generated(text, "objects", comparison.table("call", WITHOUT_TENSORS, ("objects",)))
    if os.environ.get("LANESUM_WRITE_TABLES"):
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "Run this test with LANESUM_WRITE_TABLES=1, which writes the tables."
