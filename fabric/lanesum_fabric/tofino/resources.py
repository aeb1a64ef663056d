# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Resources of a Tofino profile, from the assembler's ``context.json``."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

# Resources of each committed profile.
REPORT = "resources.json"
# Containers that carry headers through the stages, without tagalong and dark ones.
_HEADER_CONTAINERS = ("normal", "mocha")


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources of one pipe of a profile. Units of memory are those of ``Chip``.

    Attributes:
        stages: the last stage in use, plus one.
        stateful_alus, memories, ternary_memories, tables: in all stages together.
        header_bits: bits of the packet header vector, ingress and egress together, without tagalong and dark ones.
        ingress_cycles, egress_cycles: cycles of the match-action stages, without parser, queues and deparser.
    """

    stages: int
    stateful_alus: int
    memories: int
    ternary_memories: int
    tables: int
    lane_stages: int
    header_bits: int
    ingress_cycles: int
    egress_cycles: int

    def as_json(self) -> dict[str, int]:
        return asdict(self)


def _stage_tables(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if "stage_number" in node and "stage_table_type" in node:
            yield node
        for value in node.values():
            yield from _stage_tables(value)
    elif isinstance(node, list):
        for value in node:
            yield from _stage_tables(value)


def _memory_units(node: Any) -> Iterator[tuple[str, int]]:
    """Return (kind, number) of each memory in a table's allocation."""
    if isinstance(node, dict):
        if "memory_type" in node:
            for number in _numbers({key: value for key, value in node.items() if key != "memory_type"}):
                yield node["memory_type"], number
        else:
            for value in node.values():
                yield from _memory_units(value)
    elif isinstance(node, list):
        for value in node:
            yield from _memory_units(value)


def _numbers(node: Any) -> Iterator[int]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "memory_units":
                yield from (unit for unit in value)
            elif key == "spare_bank_memory_unit" and isinstance(value, int):
                yield value
            elif isinstance(value, dict | list):
                yield from _numbers(value)
    elif isinstance(node, list):
        for value in node:
            yield from _numbers(value)


def measure(context: dict[str, Any]) -> Resources:
    """Count the allocations of the assembler. Raises KeyError for any other ``context``."""
    memories: dict[str, set[tuple[int, int]]] = defaultdict(set)
    alus: set[tuple[int, int]] = set()
    lane_stages: set[int] = set()
    tables = 0
    last = 0
    for table in context["tables"]:
        tables += table["table_type"] == "match"
        for placed in _stage_tables(table):
            stage = placed["stage_number"]
            last = max(last, stage)
            for kind, number in _memory_units(placed):
                memories[kind].add((stage, number))
            if table["table_type"] == "stateful":
                alus.add((stage, placed["meter_alu_index"]))
                if ".words_" in table["name"]:
                    lane_stages.add(stage)
    containers: dict[tuple[str, int], int] = {}
    for phases in context["phv_allocation"]:
        for gress in ("ingress", "egress"):
            for container in phases.get(gress, []):
                if container["container_type"] in _HEADER_CONTAINERS:
                    containers[container["container_type"], container["phv_number"]] = container["word_bit_width"]
    cycles = {"ingress": 0, "egress": 0}
    for stage in context["mau_stage_characteristics"]:
        if stage["gress"] in cycles:
            cycles[stage["gress"]] += stage["cycles_contribute_to_latency"]
    return Resources(
        stages=last + 1,
        stateful_alus=len(alus),
        memories=len(memories["sram"]),
        ternary_memories=len(memories["tcam"]),
        tables=tables,
        lane_stages=len(lane_stages),
        header_bits=sum(containers.values()),
        ingress_cycles=cycles["ingress"],
        egress_cycles=cycles["egress"],
    )


def read_report(path: Path) -> dict[str, Resources]:
    """Return the resources of each profile by name, as ``make tofino`` wrote them."""
    return {name: Resources(**found) for name, found in json.loads(path.read_text()).items()}
