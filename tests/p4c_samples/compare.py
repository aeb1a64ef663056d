# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Compare the embedded switch with BMv2: p4c's samples and random programs, with random entries and packets.

``python -m tests.p4c_samples.compare [FOLDER] [--random COUNT] [--smith COUNT]``, where FOLDER is
``testdata/p4_16_samples`` of p4c. ``simple_switch_grpc`` must be on PATH. Samples need ``p4c-bm2-ss`` too. ``--smith``
also needs ``p4smith`` of p4c's test tools, which writes other random programs.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lanesum_lab.targets.bmv2 import PROGRAM as BMV2
from tests.p4c_samples.comparison import Comparison, Effort, PeerFailedError, embedded_and_bmv2, is_unstable
from tests.p4c_samples.compiled import COMPILER, CompiledProgram, CompileError, compile_program, samples_of
from tests.p4c_samples.random_programs import random_program

SMITH = "p4smith"


def compare_program(source: Path, compiler: str, seed: int, effort: Effort) -> tuple[str, str]:
    """Compare one program; return the outcome and its reason."""
    try:
        program = compile_program(source, compiler)
    except CompileError as error:
        return "not compiled", str(error)
    return compare_compiled(program, seed, effort)


def compare_compiled(program: CompiledProgram, seed: int, effort: Effort) -> tuple[str, str]:
    """Compare one compiled program; return the outcome and its reason."""
    if is_unstable(program):
        return "left out", "its packets depend on the time, on queues or on random numbers"
    comparison = Comparison(program, seed, embedded_and_bmv2, effort)
    try:
        difference = comparison.run()
    except PeerFailedError as error:
        return "BMv2 failed", str(error)
    if difference:
        return "differs", f"seed {seed}: {difference}"
    if comparison.stale:
        return "stale fields", f"{comparison.stale} packets differ by fields that earlier packets left"
    return "same", ""


def smith_programs(count: int, seed: int, smith: str, folder: Path) -> Iterator[Path]:
    """Write programs of p4smith, one for each seed."""
    for number in range(seed, seed + count):
        path = folder / f"smith-{number}.p4"
        command = [smith, "--target", "bmv2", "--arch", "v1model", "--seed", str(number), str(path)]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            yield path


def main(arguments: list[str]) -> int:
    """Print one line for each program that is not the same, then totals; return 1 if one differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.p4c_samples.compare", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="samples of p4c: testdata/p4_16_samples")
    parser.add_argument("--random", type=int, default=0, metavar="COUNT", help="number of random programs")
    parser.add_argument("--smith", type=int, default=0, metavar="COUNT", help="number of programs of p4smith")
    parser.add_argument("--seed", type=int, default=0, help="first seed of random programs, entries and packets")
    parser.add_argument("--rounds", type=int, default=Effort.rounds, help="rounds of updates and packets")
    options = parser.parse_args(arguments)
    tools = [BMV2, *([COMPILER] if options.folder or options.smith else []), *([SMITH] if options.smith else [])]
    for missing in (tool for tool in tools if shutil.which(tool) is None):
        parser.error(f"{missing} is not on PATH; docs/tools.md says where it comes from")
    if options.folder is None and not options.random and not options.smith:
        parser.error("nothing to compare: give FOLDER, --random or --smith")
    effort = Effort(options.rounds)
    counts: Counter[str] = Counter()

    def note(name: str, outcome: str, reason: str) -> None:
        counts[outcome] += 1
        if outcome != "same":
            print(f"{name}: {outcome}: {reason}", flush=True)

    for seed in range(options.seed, options.seed + options.random):
        note(f"random-{seed}", *compare_compiled(random_program(seed), seed, effort))
    with tempfile.TemporaryDirectory() as scratch:
        samples = [] if options.folder is None else samples_of(options.folder)
        for source in (*samples, *smith_programs(options.smith, options.seed, SMITH, Path(scratch))):
            note(source.stem, *compare_program(source, COMPILER, options.seed, effort))
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    return 1 if not counts or counts["differs"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
