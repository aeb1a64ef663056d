# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Compile p4c's samples with packet tests and run each test on the embedded switch.

``python -m tests.p4c_samples FOLDER``, where FOLDER is ``testdata/p4_16_samples`` of p4c and ``p4c-bm2-ss`` is on PATH.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from lanesum_switch import EmbeddedSwitch
from lanesum_switch.api import SwitchError, UnsupportedProgramError
from tests.p4c_samples.compiled import COMPILER, CompileError, compile_program, samples_of
from tests.p4c_samples.packet_test import PacketTest, PacketTestError


@dataclass(frozen=True)
class Outcome:
    """Result of one sample: ``passed``, ``failed``, ``refused`` by the switch, or ``not compiled``."""

    sample: str
    outcome: str
    reasons: tuple[str, ...] = ()


def run_samples(folder: Path, compiler: str) -> Iterator[Outcome]:
    """Run the packet tests of all v1model programs of a folder, in the order of their names."""
    for source in samples_of(folder):
        yield run_sample(source, source.with_suffix(".stf").read_text(), compiler)


def run_sample(source: Path, test: str, compiler: str) -> Outcome:
    """Compile a program and run its packet test."""
    try:
        program = compile_program(source, compiler)
    except CompileError as error:
        return Outcome(source.stem, "not compiled", (str(error),))
    return run_program(program.name, program.json, test)


def run_program(name: str, program: bytes, test: str) -> Outcome:
    """Load a compiled program and run a packet test on it."""
    switch = EmbeddedSwitch()
    try:
        switch.load(program)
    except UnsupportedProgramError as error:
        return Outcome(name, "refused", (str(error),))
    try:
        differences = PacketTest(switch).run(test)
    except (PacketTestError, SwitchError) as error:
        differences = (str(error),)
    return Outcome(name, "failed" if differences else "passed", differences)


def main(arguments: list[str]) -> int:
    """Print one line for each sample that does not pass, then totals; return 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.p4c_samples", description=__doc__)
    parser.add_argument("folder", type=Path, help="samples of p4c: testdata/p4_16_samples")
    parser.add_argument("--json", action="store_true", help="print all outcomes as JSON")
    options = parser.parse_args(arguments)
    compiler = shutil.which(COMPILER)
    if compiler is None:
        parser.error(f"{COMPILER} is not on PATH; docs/tools.md says where it comes from")
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder: give testdata/p4_16_samples of p4c")
    outcomes = list(run_samples(options.folder, compiler))
    if options.json:
        print(json.dumps([asdict(outcome) for outcome in outcomes], indent=2))
    else:
        for outcome in outcomes:
            if outcome.outcome != "passed":
                print(f"{outcome.sample}: {outcome.outcome}: {'; '.join(outcome.reasons)}")
        counts = Counter(outcome.outcome for outcome in outcomes)
        print(", ".join(f"{count} {name}" for name, count in counts.most_common()))
    return 1 if not outcomes or any(outcome.outcome == "failed" for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
