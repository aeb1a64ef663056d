# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Times in the chip follow from the cycles of compiler and assembler, and the committed figures from both."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lanesum_fabric.program.pipelines import TOFINO_BUILD_FOLDER
from lanesum_fabric.tofino.chips import PROFILES, profile
from lanesum_fabric.tofino.resources import REPORT, Resources, read_report
from lanesum_lab.builds.performance import (
    PERFORMANCE,
    ParserCycles,
    Timing,
    parser_cycles,
    read_parser_cycles,
    round_trip_table,
    time_table,
    timings,
    write_performance,
)
from tests.paths import ROOT

FOLDER = ROOT / TOFINO_BUILD_FOLDER
STAGES = Resources(12, 41, 541, 73, 83, 8, 2992, ingress_cycles=283, egress_cycles=189)
# The path from the server is longer, and carries no contributions.
ASSEMBLY = """
parser ingress:
  start: $init
  init_zero: [ W1 ]
  states:
    $init:
      *:
        shift: 2
        next: ethernet
    ethernet:
      match: [ half ]
      0x0800:
        next: parse_source
      0x**:
        next: words
    parse_source:
      *:
        next: answer.$split_0
    answer.$split_0:
      *:
        next: words
    words:
      0x01:
        next: end
      *:
        next: words.$split_0
    words.$split_0:
      *:
        shift: 4
parser egress:
  start: start
  states:
    start:
      *:
        next: parse_source
    parse_source:
      *:
        next: end
deparser ingress:
  states:
    x:
"""


def test_parser_cycles_are_states_of_longest_path() -> None:
    assert parser_cycles(ASSEMBLY) == ParserCycles(ingress=4, egress=2)


@pytest.mark.parametrize(
    ("assembly", "said"),
    [
        ("", r"describes the parsers \[\]"),
        (ASSEMBLY.partition("parser egress")[0], r"\['ingress'\], not egress and ingress"),
        (ASSEMBLY.replace("start: start", "start: other"), "has no start state"),
    ],
)
def test_parser_cycles_of_an_incomplete_assembly_are_refused(assembly: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parser_cycles(assembly)


def test_timing_of_one_pass_is_cycles_by_clock() -> None:
    """21 + 283 + 10 + 189 cycles at 1.22 GHz; a contribution of 202 bytes and 24 on the wire at 100 Gbit/s."""
    found = Timing(profile("tofino1-w32"), ParserCycles(21, 10), STAGES)
    assert (found.pass_cycles, found.pass_ns, found.answer_passes, found.answer_ns) == (503, 412, 1, 412)
    assert found.parser_packets == 1_220_000_000 // 21
    assert found.packets_at(100_000_000_000) == 55_309_734
    assert found.slots_for(100_000_000_000, 10) == 554


def test_timing_of_several_passes_includes_the_recirculation_port() -> None:
    """Eight passes of 503 cycles at 1.35 GHz, and 1,908 + 2,032 bytes at 100 Gbit/s."""
    found = Timing(profile("tofino2-w256"), ParserCycles(21, 10), STAGES)
    assert found.answer_passes == 8
    assert found.answer_ns == round(8 * 503 / 1.35 + 8 * (1_908 + 2_032) / 100)


def test_committed_figures_are_those_of_the_committed_cycles(tmp_path: Path) -> None:
    parsers = read_parser_cycles(FOLDER / PERFORMANCE)
    assert list(parsers) == [built.name for built in PROFILES]
    found = timings(parsers, read_report(FOLDER / REPORT))
    write_performance(tmp_path / PERFORMANCE, found)
    assert (tmp_path / PERFORMANCE).read_text() == (FOLDER / PERFORMANCE).read_text()
    slower = [replace(one, parsers=ParserCycles(99, 99)) for one in found]
    write_performance(tmp_path / PERFORMANCE, slower)
    assert (tmp_path / PERFORMANCE).read_text() != (FOLDER / PERFORMANCE).read_text()


def test_tables_and_file_have_the_same_figures() -> None:
    document = json.loads((FOLDER / PERFORMANCE).read_text())
    found = timings(read_parser_cycles(FOLDER / PERFORMANCE), read_report(FOLDER / REPORT))
    (row,) = [line for line in time_table(found).splitlines() if line.startswith("| one pass")]
    assert row.removesuffix(" |").split(" | ")[1:] == [f"{one['pass_ns']} ns" for one in document.values()]
    ports = [port for one in document.values() for port in one["ports"]]
    rows = round_trip_table(found).splitlines()[2:]
    assert [line.split(" | ")[4] for line in rows] == [f"{port['slots_for_round_trip_us']['10']:,}" for port in ports]
