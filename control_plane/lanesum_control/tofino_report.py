# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What a Tofino profile takes of its chip, from the assembler's ``context.json``, and the rates that follow.

What is measured is the assembler's. Rates are arithmetic on packet sizes alone; nothing here was run on a switch.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import FRAME_OVERHEAD_BYTES
from lanesum_control.capabilities import Capabilities
from lanesum_control.manifest import MANIFEST
from lanesum_control.p4info import P4InfoNames
from lanesum_control.pipelines import TOFINO_BUILD_FOLDER
from lanesum_control.tofino import PROFILES, Chip, TofinoProfile, profile

PAGE = "docs/tofino.md"
REPORT = f"{TOFINO_BUILD_FOLDER}/resources.json"
_NO_SUMS = (LaneOp.OR, LaneOp.MAX)
PORT_BITS_PER_SECOND = 100e9
# Preamble, gap and frame check beside each frame.
WIRE_OVERHEAD = 24
ROUND_TRIP_SECONDS = 10e-6


@dataclass(frozen=True, slots=True)
class Resources:
    """What one pipe of a profile takes. Units of memory are those of ``Chip``.

    Attributes:
        stages: the last stage in use, plus one.
        stateful_alus, memories, ternary_memories, tables: in all stages together.
        lane_stages: stages that hold lane registers.
        header_bits: of the packet header vector, ingress and egress together, tagalong containers left out.
        ingress_cycles, egress_cycles: of the match-action stages, without parser, queues and deparser.
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
    """(kind, number) of each memory named in a table's allocation."""
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


def measure(built: TofinoProfile, context: dict[str, Any]) -> Resources:
    """Count what the assembler gave out. Raises KeyError where ``context`` is not the assembler's."""
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
                if container["container_type"] == "normal":
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


@dataclass(frozen=True, slots=True)
class Rates:
    """What a 100G port can do at most, of one operation in one profile.

    A port carries a contribution in and a result out for every packet, so the longer of the two decides.
    """

    operation: LaneOp
    values_per_packet: int
    contribution_bytes: int
    result_bytes: int

    @property
    def packets_per_second(self) -> float:
        longer = max(self.contribution_bytes, self.result_bytes) + WIRE_OVERHEAD
        return PORT_BITS_PER_SECOND / (8 * longer)

    @property
    def values_per_second(self) -> float:
        return self.packets_per_second * self.values_per_packet

    @property
    def slots_in_flight(self) -> int:
        """Slots that one job needs to keep the port busy for ``ROUND_TRIP_SECONDS``."""
        return -int(-self.packets_per_second * ROUND_TRIP_SECONDS // 1)


def rates(built: TofinoProfile, operation: LaneOp) -> Rates:
    """Sizes of frames of ``operation`` in ``built``."""
    accumulator = built.accumulator_words
    shape = operation.shape
    uplink = shape.uplink_words(accumulator)
    return Rates(
        operation,
        accumulator * shape.lanes_per_accumulator_word,
        FRAME_OVERHEAD_BYTES + 4 * uplink,
        FRAME_OVERHEAD_BYTES + 4 * accumulator,
    )


def _share(used: int, there: int) -> str:
    return f"{used} of {there}"


def resource_table(measured: dict[str, Resources]) -> list[str]:
    """Rows of the page's table of resources, one column a profile."""
    columns = [(profile(name), found) for name, found in measured.items()]

    def row(title: str, cells: list[str]) -> str:
        return f"| {title} | " + " | ".join(cells) + " |"

    def whole(chip: Chip, of_a_stage: int) -> int:
        return chip.stages * of_a_stage

    return [
        row("", [built.name for built, _ in columns]),
        "|---|" + "---|" * len(columns),
        row("chip", [built.chip.title for built, _ in columns]),
        row("accumulator words", [str(built.accumulator_words) for built, _ in columns]),
        row("slots a pipe", [f"{built.slots:,}" for built, _ in columns]),
        row("stages", [_share(found.stages, built.chip.stages) for built, found in columns]),
        row("stages with lanes", [str(found.lane_stages) for _, found in columns]),
        row(
            "stateful ALUs",
            [_share(found.stateful_alus, whole(built.chip, built.chip.stateful_alus)) for built, found in columns],
        ),
        row("SRAM", [_share(found.memories, whole(built.chip, built.chip.memories)) for built, found in columns]),
        row(
            "TCAM",
            [
                _share(found.ternary_memories, whole(built.chip, built.chip.ternary_memories))
                for built, found in columns
            ],
        ),
        row("tables", [str(found.tables) for _, found in columns]),
        row("PHV bits", [_share(found.header_bits, built.chip.container_bits) for built, found in columns]),
        row("cycles of the ingress stages", [str(found.ingress_cycles) for _, found in columns]),
        row("cycles of the egress stages", [str(found.egress_cycles) for _, found in columns]),
        row("recirculations of a contribution", [str(built.passes - 1) for built, _ in columns]),
    ]


def rate_table(capabilities: Mapping[str, Capabilities]) -> list[str]:
    """Rows of the page's table of rates, one row a profile and operation that adds; ``capabilities`` by profile."""
    lines = [
        "| profile | operation | values a packet | frames up / down | values a second | slots for 10 us |",
        "|---|---|---|---|---|---|",
    ]
    for built in PROFILES:
        for operation in capabilities[built.name].of_these(op for op in LaneOp if op not in _NO_SUMS):
            found = rates(built, operation)
            lines.append(
                f"| {built.name} | {operation.name} | {found.values_per_packet} | "
                f"{found.contribution_bytes} / {found.result_bytes} B | {found.values_per_second / 1e9:.2f} G | "
                f"{found.slots_in_flight:,} |"
            )
    return lines


def generated_parts(root: Path) -> dict[str, list[str]]:
    """Lines of each generated part of the page, by its name."""
    report = json.loads((root / REPORT).read_text())
    manifest = json.loads((root / REPORT).with_name(MANIFEST).read_text())
    measured = {name: Resources(**found) for name, found in report.items()}
    folder = root / TOFINO_BUILD_FOLDER
    capabilities = {
        name: Capabilities.of(P4InfoNames.from_text((folder / f"{name}.p4info.txtpb").read_text())) for name in report
    }
    return {
        "tofino resources": [*resource_table(measured), "", f"Compiled by {manifest['compiler']}."],
        "tofino rates": rate_table(capabilities),
    }


def page_with(text: str, parts: dict[str, list[str]]) -> str:
    """``text`` with what stands between the marks of each part replaced. Raises ValueError where marks are missing."""
    for name, lines in parts.items():
        begin, end = f"<!-- generated: {name} -->\n", f"<!-- end: {name} -->"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"{PAGE} has no marks for {name!r}")
        text = before + begin + "\n".join(lines) + "\n" + end + after
    return text


def write_page(root: Path) -> None:
    """Rewrite the generated parts of ``docs/tofino.md``."""
    page = root / PAGE
    page.write_text(page_with(page.read_text(), generated_parts(root)))
