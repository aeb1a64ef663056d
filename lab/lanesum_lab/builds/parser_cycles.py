# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Clock cycles of the chip's parsers, from the compiler's assembly. A parser visits one state in each cycle."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

_PARSER = re.compile(r"^parser (ingress|egress):\n((?: .*\n)+)", re.MULTILINE)
_STATE = re.compile(r"^    ([\w.$]+):\n((?:     .*\n)*)", re.MULTILINE)
_START = re.compile(r"^  start: (\S+)$", re.MULTILINE)
_NEXT = re.compile(r"^        next: (\S+)$", re.MULTILINE)
# Ingress state of packets from the server, whose words no switch sums.
_FROM_SERVER = re.compile(r"parse_source\b")


@dataclass(frozen=True, slots=True)
class ParserCycles:
    """States on the longest path of a contribution through the ingress parser, and of any packet through egress."""

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
