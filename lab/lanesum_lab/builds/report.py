# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of ``docs/tofino-resources.md``: resources of the profiles, and the resulting rates.

Resources are from the assembler. Rates are arithmetic on packet sizes; no switch was measured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from lanesum.protocol.lanes import Combine, LaneOp
from lanesum_fabric.program.capabilities import Capabilities
from lanesum_fabric.program.manifest import MANIFEST
from lanesum_fabric.program.p4info import P4InfoNames
from lanesum_fabric.program.pipelines import TOFINO_BUILD_FOLDER
from lanesum_fabric.tofino.profiles import PROFILES, Chip, profile
from lanesum_fabric.tofino.resources import REPORT, Resources, read_report
from lanesum_lab.builds.performance import PERFORMANCE, read_parser_cycles, round_trip_table, time_table, timings
from lanesum_lab.builds.rates import WORKERS, rates, recirculated_bytes, recirculated_rate

PAGE = "docs/tofino-resources.md"
_NO_SUMS = tuple(op for op in LaneOp if op.shape.combine is not Combine.ADD)
_TABLES_OF_A_STAGE = 16
# Jobs that share a pipe's slots, and values of a model, in the planning tables.
JOBS = (1, 4, 16, 64)
MODELS = {"25 M": 25e6, "350 M": 350e6, "7 G": 7e9}


def recirculation_table() -> list[str]:
    """Return the rows of the recirculation table, one per profile of several passes and operation."""
    lines = [
        "| profile | operation | contribution, bytes | sum, bytes | for one port at line rate | "
        f"values a second, {WORKERS} workers |",
        "|---|---|---|---|---|---|",
    ]
    for built in PROFILES:
        if built.passes == 1:
            continue
        for operation in (LaneOp.ADD32, LaneOp.ADD8X4, LaneOp.EXPAND8):
            found = rates(built, operation)
            contribution, harvest = recirculated_bytes(built, operation)
            per_port = contribution + harvest / WORKERS
            lines.append(
                f"| {built.name} | {operation.name} | {contribution:,} | {harvest:,} | "
                f"{found.packets_per_second * per_port * 8 / 1e9:.0f} Gbit/s | "
                f"{recirculated_rate(built, operation) / 1e9:.2f} G |"
            )
    return lines


def slots_table() -> list[str]:
    """Return the rows of the table of slots by number of jobs, and their duration at 100 Gbit/s.

    The size of a result, which decides, is the same for all operations.
    """
    lines = [
        "| profile | " + " | ".join(f"{jobs} jobs" if jobs > 1 else "1 job" for jobs in JOBS) + " |",
        "|---|" + "---|" * len(JOBS),
    ]
    for built in PROFILES:
        rate = rates(built, LaneOp.ADD32).packets_per_second
        shares = [built.slots // jobs for jobs in JOBS]
        lines.append(
            f"| {built.name} | " + " | ".join(f"{share:,}, {share / rate * 1e6:.0f} µs" for share in shares) + " |"
        )
    return lines


def model_table() -> list[str]:
    """Return the rows of the table of times by model size: one all-reduce of all values at 100 Gbit/s."""
    lines = [
        "| profile | operation | what decides | " + " | ".join(f"{size} values" for size in MODELS) + " |",
        "|---|---|---|" + "---|" * len(MODELS),
    ]
    for built in PROFILES:
        for operation in (LaneOp.ADD32, LaneOp.EXPAND8):
            limits = [(rates(built, operation).values_per_second, "port")]
            if built.passes > 1:
                limits.append((recirculated_rate(built, operation), "recirculation"))
            rate, what = min(limits)
            cells = [f"{values / rate * 1e3:,.1f} ms" for values in MODELS.values()]
            lines.append(f"| {built.name} | {operation.name} | {what} | " + " | ".join(cells) + " |")
    return lines


def _share(used: int, there: int) -> str:
    return f"{used} of {there}"


def resource_table(measured: dict[str, Resources]) -> list[str]:
    """Return the rows of the resource table, one column per profile."""
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
    ]


def lookup_table(measured: dict[str, Resources]) -> list[str]:
    """Return the rows of the table of tables that operations by lookups need beside the program."""
    columns = [(profile(name), found) for name, found in measured.items() if profile(name).passes == 1]
    rows: dict[str, list[int]] = {
        "there": [built.chip.stages * _TABLES_OF_A_STAGE for built, _ in columns],
        "the program's": [found.tables for _, found in columns],
        "`TABLE8` or `EXPAND5TO8`, two a word": [2 * built.accumulator_words for built, _ in columns],
        "`EXPAND3TO8`, one a word": [built.accumulator_words for built, _ in columns],
        "the program's, with both lines above": [
            found.tables + 3 * built.accumulator_words for built, found in columns
        ],
        "with all three operations": [found.tables + 5 * built.accumulator_words for built, found in columns],
    }
    return [
        "| tables | " + " | ".join(built.name for built, _ in columns) + " |",
        "|---|" + "---|" * len(columns),
        *(f"| {title} | " + " | ".join(map(str, cells)) + " |" for title, cells in rows.items()),
    ]


def rate_table(capabilities: Mapping[str, Capabilities]) -> list[str]:
    """Return the rows of the rate table, one per profile and adding operation; ``capabilities`` by profile."""
    lines = [
        "| profile | operation | values a packet | frames up / down | values a second |",
        "|---|---|---|---|---|",
    ]
    for built in PROFILES:
        for operation in capabilities[built.name].of_these(op for op in LaneOp if op not in _NO_SUMS):
            found = rates(built, operation)
            lines.append(
                f"| {built.name} | {operation.name} | {found.values_per_packet} | "
                f"{found.contribution_bytes} / {found.result_bytes} B | {found.values_per_second / 1e9:.2f} G |"
            )
    return lines


def generated_parts(root: Path) -> dict[str, list[str]]:
    """Return the lines of each generated part of the page, by its name."""
    folder = root / TOFINO_BUILD_FOLDER
    manifest = json.loads((folder / MANIFEST).read_text())
    measured = read_report(folder / REPORT)
    found = timings(read_parser_cycles(folder / PERFORMANCE), measured)
    capabilities = {
        name: Capabilities.of(P4InfoNames.from_text((folder / f"{name}.p4info.txtpb").read_text())) for name in measured
    }
    return {
        "tofino resources": [*resource_table(measured), "", f"Compiled by {manifest['compiler']}."],
        "tofino rates": rate_table(capabilities),
        "tofino recirculation": recirculation_table(),
        "tofino time": time_table(found),
        "tofino round trips": round_trip_table(found),
        "tofino slots": slots_table(),
        "tofino models": model_table(),
        "tofino lookups": lookup_table(measured),
    }


def page_with(text: str, parts: dict[str, list[str]]) -> str:
    """Return ``text`` with the generated parts replaced. Raises ValueError if marks are missing."""
    for name, lines in parts.items():
        begin, end = f"<!-- generated: {name} -->\n", f"<!-- end: {name} -->"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"{PAGE} has no marks for {name!r}")
        text = before + begin + "\n".join(lines) + "\n" + end + after
    return text


def write_page(root: Path) -> None:
    """Rewrite the generated parts of ``docs/tofino-resources.md``."""
    page = root / PAGE
    page.write_text(page_with(page.read_text(), generated_parts(root)))
