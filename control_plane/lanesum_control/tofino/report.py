# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of ``docs/tofino.md``: resources of the profiles, and the resulting rates.

Resources are from the assembler. Rates are arithmetic on packet sizes; no switch was measured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lanesum.protocol.lanes import Combine, LaneOp
from lanesum.protocol.spec import FRAME_OVERHEAD_BYTES
from lanesum_control.capabilities import Capabilities
from lanesum_control.manifest import MANIFEST
from lanesum_control.p4info import P4InfoNames
from lanesum_control.pipelines import TOFINO_BUILD_FOLDER
from lanesum_control.tofino.profiles import PROFILES, Chip, TofinoProfile, profile
from lanesum_control.tofino.resources import REPORT, Resources, read_report

PAGE = "docs/tofino.md"
_NO_SUMS = tuple(op for op in LaneOp if op.shape.combine is not Combine.ADD)
PORT_BITS_PER_SECOND = 100e9
# Bytes of preamble, gap and frame check per frame.
WIRE_OVERHEAD = 24
ROUND_TRIP_SECONDS = 10e-6
# Headers bridge and passes of p4src/tofino/types.p4, in front of recirculated packets.
RECIRCULATION_HEADER_BYTES = 26
# Workers of the jobs in the table of recirculations.
WORKERS = 8
# Jobs that share a pipe's slots, and values of a model, in the planning tables.
JOBS = (1, 4, 16, 64)
MODELS = {"25 M": 25e6, "350 M": 350e6, "7 G": 7e9}


@dataclass(frozen=True, slots=True)
class Rates:
    """Maximum rates of a 100G port for one operation in one profile.

    A port carries one contribution in and one result out per packet, so the longer of the two decides.
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
    """Return the frame sizes of ``operation`` in ``built``."""
    accumulator = built.accumulator_words
    shape = operation.shape
    uplink = shape.uplink_words(accumulator)
    return Rates(
        operation,
        accumulator * shape.lanes_per_accumulator_word,
        FRAME_OVERHEAD_BYTES + 4 * uplink,
        FRAME_OVERHEAD_BYTES + 4 * accumulator,
    )


def recirculated_bytes(built: TofinoProfile, operation: LaneOp) -> tuple[int, int]:
    """Return the recirculated wire bytes of every contribution, and the additional ones of the packet with the sum.

    A packet loses one block of its words in every pass, and then gains one block of the sum in every further pass.
    """
    if built.passes == 1:
        return 0, 0
    found = rates(built, operation)
    empty = FRAME_OVERHEAD_BYTES + WIRE_OVERHEAD + RECIRCULATION_HEADER_BYTES
    block = (found.contribution_bytes - FRAME_OVERHEAD_BYTES) // built.passes
    sum_block = (found.result_bytes - FRAME_OVERHEAD_BYTES) // built.passes
    contribution = sum(empty + left * block for left in range(1, built.passes))
    harvest = sum(empty + read * sum_block for read in range(built.passes))
    return contribution, harvest


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
                f"{_recirculated_rate(built, operation) / 1e9:.2f} G |"
            )
    return lines


def _recirculated_rate(built: TofinoProfile, operation: LaneOp) -> float:
    """Return the values per second of a job of ``WORKERS`` with ``PORT_BITS_PER_SECOND`` of recirculation bandwidth."""
    contribution, harvest = recirculated_bytes(built, operation)
    per_sum = WORKERS * contribution + harvest
    return PORT_BITS_PER_SECOND / 8 / per_sum * rates(built, operation).values_per_packet


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
            f"| {built.name} | " + " | ".join(f"{share:,}, {share / rate * 1e6:.0f} us" for share in shares) + " |"
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
                limits.append((_recirculated_rate(built, operation), "recirculation"))
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
        row("cycles of the ingress stages", [str(found.ingress_cycles) for _, found in columns]),
        row("cycles of the egress stages", [str(found.egress_cycles) for _, found in columns]),
        row("recirculations of a contribution", [str(built.recirculations) for built, _ in columns]),
        row(
            "recirculations of the one that comes back as the sum",
            [str(built.recirculations_for_sum) for built, _ in columns],
        ),
    ]


def rate_table(capabilities: Mapping[str, Capabilities]) -> list[str]:
    """Return the rows of the rate table, one per profile and adding operation; ``capabilities`` by profile."""
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
    """Return the lines of each generated part of the page, by its name."""
    folder = root / TOFINO_BUILD_FOLDER
    manifest = json.loads((folder / MANIFEST).read_text())
    measured = read_report(folder / REPORT)
    capabilities = {
        name: Capabilities.of(P4InfoNames.from_text((folder / f"{name}.p4info.txtpb").read_text())) for name in measured
    }
    return {
        "tofino resources": [*resource_table(measured), "", f"Compiled by {manifest['compiler']}."],
        "tofino rates": rate_table(capabilities),
        "tofino recirculation": recirculation_table(),
        "tofino slots": slots_table(),
        "tofino models": model_table(),
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
    """Rewrite the generated parts of ``docs/tofino.md``."""
    page = root / PAGE
    page.write_text(page_with(page.read_text(), generated_parts(root)))
