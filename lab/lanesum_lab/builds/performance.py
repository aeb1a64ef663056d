# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Time of a packet in the chip, and the slots that keep a port busy: ``performance.json``, and tables of the page.

Cycles are from compiler and assembler; all other figures are arithmetic on them and on packet sizes. Times are lower
bounds: the ports, the queues, and the deparsers add to them, for which the tools have no figures.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lanesum.protocol.lanes import LaneOp
from lanesum_fabric.tofino.chips import PORT_BITS_PER_SECOND, TofinoProfile, profile
from lanesum_fabric.tofino.resources import Resources
from lanesum_lab.builds.rates import rates, recirculated_bytes
from lanesum_lab.markdown import markdown_table

_PARSER = re.compile(r"^parser (ingress|egress):\n((?: .*\n)+)", re.MULTILINE)
_STATE = re.compile(r"^    ([\w.$]+):\n((?:     .*\n)*)", re.MULTILINE)
_START = re.compile(r"^  start: (\S+)$", re.MULTILINE)
_NEXT = re.compile(r"^        next: (\S+)$", re.MULTILINE)
# Ingress state of packets from the server, whose words no switch sums.
_FROM_SERVER = re.compile(r"parse_source\b")


@dataclass(frozen=True, slots=True)
class ParserCycles:
    """States on the longest path of a contribution through the ingress parser, and of any packet through egress.

    A parser visits one state in each clock cycle.
    """

    ingress: int
    egress: int


def parser_cycles(assembly: str) -> ParserCycles:
    """Count the states in the assembly of one pipe. Raises ValueError if it does not describe both parsers."""
    found = {gress: _longest_path(body, contribution=gress == "ingress") for gress, body in _PARSER.findall(assembly)}
    if found.keys() != {"ingress", "egress"}:
        raise ValueError(f"the assembly describes the parsers {sorted(found)}, not egress and ingress")
    return ParserCycles(**found)


def _longest_path(body: str, *, contribution: bool) -> int:
    start = _START.search(body)
    following = {name: _NEXT.findall(rules) for name, rules in _STATE.findall(body)}
    if start is None or start[1] not in following:
        raise ValueError("a parser of the assembly has no start state")

    @cache
    def states_from(name: str) -> int:
        if name not in following or (contribution and _FROM_SERVER.match(name)):
            return 0
        return 1 + max(map(states_from, following[name]), default=0)

    return states_from(start[1])


# Figures of each committed profile.
PERFORMANCE = "performance.json"
ROUND_TRIPS_US = (5, 10, 20, 50)
# The adding operations of the program.
OPERATIONS = (LaneOp.ADD32, LaneOp.ADD8X4, LaneOp.EXPAND8, LaneOp.EXPAND16, LaneOp.EXPAND8TO16)


@dataclass(frozen=True, slots=True)
class Timing:
    """Clock cycles of a profile. ``parsers``: of parsers; ``stages``: of match-action stages, ingress and egress."""

    built: TofinoProfile
    parsers: ParserCycles
    stages: Resources

    @property
    def pass_cycles(self) -> int:
        """Cycles of one pass, from the ingress parser to the last egress stage."""
        parsers, stages = self.parsers, self.stages
        return parsers.ingress + stages.ingress_cycles + parsers.egress + stages.egress_cycles

    @property
    def answer_passes(self) -> int:
        """Passes of the packet that completes a sum and leaves as the result."""
        return self.built.recirculations_for_sum + 1

    @property
    def pass_ns(self) -> int:
        return round(self.pass_cycles / self.built.chip.clock_hz * 1e9)

    @property
    def answer_ns(self) -> int:
        """Time from a completing contribution of ADD32 to its result, with its time on the recirculation port."""
        bits = 8 * sum(recirculated_bytes(self.built, LaneOp.ADD32))
        seconds = self.answer_passes * self.pass_cycles / self.built.chip.clock_hz + bits / PORT_BITS_PER_SECOND
        return round(seconds * 1e9)

    @property
    def parser_packets(self) -> int:
        """Contributions per second that one ingress parser can take."""
        return self.built.chip.clock_hz // self.parsers.ingress

    def packets_at(self, bits_per_second: int) -> int:
        """Return the contributions of ADD32 per second of a port at its full rate."""
        return int(rates(self.built, LaneOp.ADD32).packets_at(bits_per_second))

    def slots_for(self, bits_per_second: int, round_trip_us: int) -> int:
        """Return the slots that keep a port busy over a round trip."""
        return math.ceil(rates(self.built, LaneOp.ADD32).packets_at(bits_per_second) * round_trip_us / 1e6)

    def as_json(self) -> dict[str, Any]:
        """Return all figures. Keys end in their unit, unless they count."""
        built = self.built
        return {
            "chip": built.chip.title,
            "clock_hz": built.chip.clock_hz,
            "accumulator_words": built.accumulator_words,
            "slots": built.slots,
            "contribution_passes": built.passes,
            "answer_passes": self.answer_passes,
            "parser_cycles": asdict(self.parsers),
            "stage_cycles": {"ingress": self.stages.ingress_cycles, "egress": self.stages.egress_cycles},
            "pass_ns": self.pass_ns,
            "answer_ns": self.answer_ns,
            "pipe_packets_per_second": built.chip.clock_hz,
            "parser_packets_per_second": self.parser_packets,
            "recirculation_bits_per_second": PORT_BITS_PER_SECOND,
            "operations": {op.name: _operation(built, op) for op in OPERATIONS},
            "ports": [
                {
                    "bits_per_second": rate,
                    "packets_per_second": self.packets_at(rate),
                    "slots_for_round_trip_us": {str(us): self.slots_for(rate, us) for us in ROUND_TRIPS_US},
                }
                for rate in built.chip.port_rates
            ],
        }


def _operation(built: TofinoProfile, operation: LaneOp) -> dict[str, int]:
    found = rates(built, operation)
    contribution, answer = recirculated_bytes(built, operation)
    return {
        "values": found.values_per_packet,
        "contribution_bytes": found.contribution_bytes,
        "result_bytes": found.result_bytes,
        "recirculated_contribution_bytes": contribution,
        "recirculated_answer_bytes": answer,
    }


def timings(parsers: Mapping[str, ParserCycles], stages: Mapping[str, Resources]) -> list[Timing]:
    """Return the timing of each profile; both arguments by its name."""
    return [Timing(profile(name), found, stages[name]) for name, found in parsers.items()]


def write_performance(path: Path, found: list[Timing]) -> None:
    path.write_text(json.dumps({one.built.name: one.as_json() for one in found}, indent=2) + "\n")


def read_parser_cycles(path: Path) -> dict[str, ParserCycles]:
    """Return the parsers' cycles of each profile by name, as ``make tofino`` wrote them."""
    return {name: ParserCycles(**found["parser_cycles"]) for name, found in json.loads(path.read_text()).items()}


def _millions(per_second: int) -> str:
    return f"{per_second / 1e6:,.1f} M"


def time_table(found: list[Timing]) -> str:
    """Return the table of times and packet rates, one column per profile."""
    rows = {
        "clock, GHz": [f"{one.built.chip.clock_hz / 1e9:.2f}" for one in found],
        "cycles of the ingress parser": [str(one.parsers.ingress) for one in found],
        "cycles of the ingress stages": [str(one.stages.ingress_cycles) for one in found],
        "cycles of the egress parser": [str(one.parsers.egress) for one in found],
        "cycles of the egress stages": [str(one.stages.egress_cycles) for one in found],
        "one pass, at least": [f"{one.pass_ns} ns" for one in found],
        "passes of a contribution": [str(one.built.passes) for one in found],
        "passes of the one that leaves as the result": [str(one.answer_passes) for one in found],
        "from the last contribution to the result, at least": [f"{one.answer_ns / 1e3:.2f} µs" for one in found],
        "packets per second of a pipe": [_millions(one.built.chip.clock_hz) for one in found],
        "contributions per second of an ingress parser": [_millions(one.parser_packets) for one in found],
    }
    return markdown_table(["", *(one.built.name for one in found)], ([title, *cells] for title, cells in rows.items()))


def round_trip_table(found: list[Timing]) -> str:
    """Return the table of slots that keep a port busy over a round trip."""
    head = ["profile", "port, Gbit/s", "packets per second", *(f"{us} µs" for us in ROUND_TRIPS_US), "slots a pipe"]
    rows = [
        [
            one.built.name,
            str(rate // 10**9),
            _millions(one.packets_at(rate)),
            *(f"{one.slots_for(rate, us):,}" for us in ROUND_TRIPS_US),
            f"{one.built.slots:,}",
        ]
        for one in found
        for rate in one.built.chip.port_rates
    ]
    return markdown_table(head, rows)
