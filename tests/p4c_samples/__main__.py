# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Compile p4c's samples with packet tests and run each test on the embedded switch.

``python -m tests.p4c_samples FOLDER``, where FOLDER is ``testdata/p4_16_samples`` of p4c and ``p4c-bm2-ss`` is on PATH.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from lanesum_switch import EmbeddedSwitch
from lanesum_switch.api import SwitchError, UnsupportedProgramError
from tests.p4c_samples.packet_test import PacketTest, PacketTestError

COMPILER = "p4c-bm2-ss"


@dataclass(frozen=True)
class Outcome:
    """Result of one sample: ``passed``, ``failed``, ``refused`` by the switch, or ``not compiled``."""

    sample: str
    outcome: str
    reasons: tuple[str, ...] = ()


def run_samples(folder: Path, compiler: str) -> Iterator[Outcome]:
    """Run the packet tests of all v1model programs of a folder, in the order of their names."""
    for test in sorted(folder.glob("*.stf")):
        source = test.with_suffix(".p4")
        if source.exists() and "v1model.p4" in source.read_text():
            yield run_sample(source, test.read_text(), compiler)


def run_sample(source: Path, test: str, compiler: str) -> Outcome:
    """Compile a program and run its packet test."""
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch) / "program.json"
        command = [compiler, "--std", "p4-16", "--Wdisable", "-o", str(program), str(source)]
        compiled = subprocess.run(command, capture_output=True, text=True)
        if compiled.returncode != 0 or not program.exists():
            return Outcome(source.stem, "not compiled", (compiled.stderr.strip().splitlines() or [""])[:1])
        return run_program(source.stem, program.read_bytes(), test)


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
