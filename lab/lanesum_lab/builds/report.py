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
from lanesum_fabric.tofino.chips import PROFILES, profile
from lanesum_fabric.tofino.resources import REPORT, Resources, read_report
from lanesum_lab.builds.performance import PERFORMANCE, read_parser_cycles, round_trip_table, time_table, timings
from lanesum_lab.builds.rates import WORKERS, rates, recirculated_bytes, recirculated_rate
from lanesum_lab.markdown import markdown_table, replace_generated

PAGE = "docs/tofino-resources.md"
_NO_SUMS = tuple(op for op in LaneOp if op.shape.combine is not Combine.ADD)
_TABLES_OF_A_STAGE = 16
# Jobs that share a pipe's slots, and values of a model, in the planning tables.
JOBS = (1, 4, 16, 64)
MODELS = {"25 M": 25e6, "350 M": 350e6, "7 G": 7e9}


def recirculation_table() -> str:
    """Return the recirculation table, one row per profile of several passes and operation."""
    head = ["profile", "operation", "contribution, bytes", "sum, bytes", "for one port at line rate"]
    rows = []
    for built in PROFILES:
        if built.passes == 1:
            continue
        for operation in (LaneOp.ADD32, LaneOp.ADD8X4, LaneOp.EXPAND8):
            contribution, harvest = recirculated_bytes(built, operation)
            bandwidth = rates(built, operation).packets_per_second * (contribution + harvest / WORKERS) * 8
            rows.append(
                [
                    built.name,
                    operation.name,
                    f"{contribution:,}",
                    f"{harvest:,}",
                    f"{bandwidth / 1e9:.0f} Gbit/s",
                    f"{recirculated_rate(built, operation) / 1e9:.2f} G",
                ]
            )
    return markdown_table([*head, f"values a second, {WORKERS} workers"], rows)


def slots_table() -> str:
    """Return the table of slots by number of jobs, and their duration at 100 Gbit/s.

    The size of a result, which decides, is the same for all operations.
    """
    rows = []
    for built in PROFILES:
        rate = rates(built, LaneOp.ADD32).packets_per_second
        shares = [built.slots // jobs for jobs in JOBS]
        rows.append([built.name, *(f"{share:,}, {share / rate * 1e6:.0f} µs" for share in shares)])
    return markdown_table(["profile", *(f"{jobs} jobs" if jobs > 1 else "1 job" for jobs in JOBS)], rows)


def model_table() -> str:
    """Return the table of times by model size: one all-reduce of all values at 100 Gbit/s."""
    rows = []
    for built in PROFILES:
        for operation in (LaneOp.ADD32, LaneOp.EXPAND8):
            limits = [(rates(built, operation).values_per_second, "port")]
            if built.passes > 1:
                limits.append((recirculated_rate(built, operation), "recirculation"))
            rate, what = min(limits)
            cells = (f"{values / rate * 1e3:,.1f} ms" for values in MODELS.values())
            rows.append([built.name, operation.name, what, *cells])
    return markdown_table(["profile", "operation", "what decides", *(f"{size} values" for size in MODELS)], rows)


def resource_table(measured: dict[str, Resources]) -> str:
    """Return the resource table, one column per profile."""
    columns = [(profile(name), found) for name, found in measured.items()]

    def share_of_chip(resource: str) -> list[str]:
        return [
            f"{getattr(found, resource)} of {built.chip.stages * getattr(built.chip, resource)}"
            for built, found in columns
        ]

    rows = {
        "chip": [built.chip.title for built, _ in columns],
        "accumulator words": [str(built.accumulator_words) for built, _ in columns],
        "slots a pipe": [f"{built.slots:,}" for built, _ in columns],
        "stages": [f"{found.stages} of {built.chip.stages}" for built, found in columns],
        "stages with lanes": [str(found.lane_stages) for _, found in columns],
        "stateful ALUs": share_of_chip("stateful_alus"),
        "SRAM": share_of_chip("memories"),
        "TCAM": share_of_chip("ternary_memories"),
        "tables": [str(found.tables) for _, found in columns],
        "PHV bits": [f"{found.header_bits} of {built.chip.container_bits}" for built, found in columns],
    }
    return markdown_table(["", *measured], ([title, *cells] for title, cells in rows.items()))


def lookup_table(measured: dict[str, Resources]) -> str:
    """Return the table of tables that operations by lookups need beside the program."""
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
    head = ["tables", *(built.name for built, _ in columns)]
    return markdown_table(head, ([title, *map(str, cells)] for title, cells in rows.items()))


def rate_table(capabilities: Mapping[str, Capabilities]) -> str:
    """Return the rate table, one row per profile and adding operation; ``capabilities`` by profile."""
    rows = []
    for built in PROFILES:
        for operation in capabilities[built.name].of_these(op for op in LaneOp if op not in _NO_SUMS):
            found = rates(built, operation)
            frames = f"{found.contribution_bytes} / {found.result_bytes} B"
            per_second = f"{found.values_per_second / 1e9:.2f} G"
            rows.append([built.name, operation.name, str(found.values_per_packet), frames, per_second])
    return markdown_table(["profile", "operation", "values a packet", "frames up / down", "values a second"], rows)


def page_with(text: str, root: Path) -> str:
    """Return ``text`` with its generated parts replaced. Raises ValueError if marks are missing."""
    folder = root / TOFINO_BUILD_FOLDER
    manifest = json.loads((folder / MANIFEST).read_text())
    measured = read_report(folder / REPORT)
    found = timings(read_parser_cycles(folder / PERFORMANCE), measured)
    capabilities = {
        name: Capabilities.of(P4InfoNames.from_text((folder / f"{name}.p4info.txtpb").read_text())) for name in measured
    }
    parts = {
        "tofino resources": f"{resource_table(measured)}\n\nCompiled by {manifest['compiler']}.",
        "tofino rates": rate_table(capabilities),
        "tofino recirculation": recirculation_table(),
        "tofino time": time_table(found),
        "tofino round trips": round_trip_table(found),
        "tofino slots": slots_table(),
        "tofino models": model_table(),
        "tofino lookups": lookup_table(measured),
    }
    for name, body in parts.items():
        text = replace_generated(text, name, body)
    return text


def write_page(root: Path) -> None:
    """Rewrite the generated parts of ``docs/tofino-resources.md``."""
    page = root / PAGE
    page.write_text(page_with(page.read_text(), root))
