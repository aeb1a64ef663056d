# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Check the models with SPIN: the whole matrix, and that every seeded bug is found.

python models/check.py [--quick] [--json] [--only WORD] [--jobs N] [--trace NAME]

A run either *holds* (every reachable state was visited, and no assertion failed) or must be *found*: a seeded bug, or a
decision that the model must reach.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from matrix import MATRIX, Run

from lanesum.errors import LanesumError, MissingToolError

MODELS = Path(__file__).parent
# These models need less; a search that stopped early does not count, see `parse`.
DEPTH = 100_000
MEMORY_MB = 8_000
RUN_S = 900
# Every step reads variables that other processes write, so partial order reduction does not help. A global variable
# with the name of one of SPIN's own replaces it: the compiler detects that by its type.
COMPILE = ("-Werror=int-conversion", "-DSAFETY", "-DNOREDUCE", "-DVECTORSZ=4096", f"-DMEMLIM={MEMORY_MB}")
SEARCH = (f"-m{DEPTH}", "-w22", "-Q15")  # minutes


@dataclass
class Outcome:
    """Result of one search."""

    name: str
    kind: str
    defines: tuple[str, ...]
    passed: bool
    complete: bool  # every reachable state was visited
    violated: str  # the assertion that failed, or ""
    states: int
    transitions: int
    depth: int
    search_s: float  # processor time
    memory_mb: float


def tool(name: str, package: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise MissingToolError(f"{name} is not on PATH; the model check needs it.", f"Run: apt install {package}")
    return path


def command(words: list[str], folder: Path) -> str:
    """Run a command and return its standard output. Raises LanesumError if it fails."""
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=RUN_S)
    except subprocess.TimeoutExpired as error:
        raise LanesumError(
            f"{Path(words[0]).name} did not end within {RUN_S} s.", "Use fewer workers, slots or chunks."
        ) from error
    if done.returncode != 0:
        raise LanesumError(f"{Path(words[0]).name} failed: {(done.stdout + done.stderr).strip()}")
    return done.stdout


def pan(folder: Path) -> tuple[str, float]:
    """Search, and return the report and the processor time, which does not depend on the load of the machine."""
    report = folder / "report"
    with report.open("w") as output:
        process = subprocess.Popen([str(folder / "pan"), *SEARCH], cwd=folder, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise LanesumError(f"pan failed: {report.read_text().strip()}")
    return report.read_text(), usage.ru_utime + usage.ru_stime


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise LanesumError(f"SPIN's report has no match for {pattern!r}:\n{text}")
    return float(found[1])


def parse(run: Run, report: str, search_s: float = 0.0) -> Outcome:
    """Parse the report of a search that took ``search_s``. A search that stopped early is not complete.

    Raises LanesumError for text that is no report.
    """
    errors = int(number(r"errors: (\d+)", report))
    violated = re.search(r"^pan:\d+: (.*?) \(at depth", report, re.MULTILINE)
    complete = (
        "Full statespace search" in report
        and "not completed" not in report
        and "too small" not in report
        and "truncated" not in report
    )
    failed = violated[1] if violated else ""
    if run.found:
        passed = errors > 0 and failed.startswith("assertion violated")
    else:
        passed = errors == 0 and complete
    return Outcome(
        name=run.name,
        kind=run.kind,
        defines=run.defines,
        passed=passed,
        complete=complete,
        violated=failed,
        states=int(number(r"^\s*([\d.e+]+) states, stored", report)),
        transitions=int(number(r"^\s*([\d.e+]+) transitions", report)),
        depth=int(number(r"depth reached (\d+)", report)),
        search_s=search_s,
        memory_mb=number(r"^\s*([\d.]+)\s+total actual memory", report),
    )


def search(run: Run) -> tuple[Outcome, list[str]]:
    """Search one run. Return the outcome, and the steps to the failed assertion, if one failed."""
    spin, gcc = tool("spin", "spin"), tool("gcc", "gcc")
    defines = [f"-D{define}" for define in run.defines]
    # SPIN writes all its files into the working folder.
    with tempfile.TemporaryDirectory(prefix="lanesum-model-") as name:
        folder = Path(name)
        for file in MODELS.glob("*.pml"):
            shutil.copy(file, folder)
        model = f"{run.model}.pml"
        command([spin, "-a", *defines, model], folder)
        # A bug is found soon: then compiling takes most of the time.
        command([gcc, "-O1" if run.found else "-O2", *COMPILE, "-o", "pan", "pan.c"], folder)
        outcome = parse(run, *pan(folder))
        steps: list[str] = []
        if outcome.violated:
            replay = command([spin, "-t", "-T", *defines, model], folder)
            steps = [line for line in replay.splitlines() if re.match(r"(worker|position|the) .*", line)]
            steps.append(outcome.violated)
    return outcome, steps


def selected(quick: bool, only: str) -> Iterator[Run]:
    for run in MATRIX:
        if (run.quick or not quick) and only.lower() in run.name.lower():
            yield run


def line(outcome: Outcome) -> str:
    said = "complete, no error" if not outcome.violated else f"found: {outcome.violated}"
    if outcome.kind == "holds" and not outcome.violated and not outcome.complete:
        said = "NOT COMPLETE"
    return (
        f"{'ok  ' if outcome.passed else 'FAIL'} {outcome.kind:8}{outcome.name:58} {outcome.states:>9,} states "
        f"{outcome.search_s:7.2f} s {outcome.memory_mb:6.0f} MB  {said}"
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check the models of the protocol with SPIN.")
    parser.add_argument(
        "--quick", action="store_true", help="the smallest sizes, and a seeded bug or two of each model"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document instead of lines")
    parser.add_argument("--only", default="", metavar="WORD", help="runs with this in their name")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="searches at once; one takes up to 1 GB")
    parser.add_argument("--trace", metavar="NAME", help="the steps to the error of one run, as its line has it")
    options = parser.parse_args(arguments)
    try:
        if options.trace is not None:
            runs = [run for run in MATRIX if run.name == options.trace]
        else:
            runs = list(selected(options.quick, options.only))
        if not runs:
            raise LanesumError("No run has this name.", "`python models/check.py` prints the names.")
        outcomes = []
        with ThreadPoolExecutor(options.jobs) as pool:
            for outcome, steps in pool.map(search, runs):
                outcomes.append(outcome)
                if not options.json:
                    print(line(outcome), flush=True)
                if options.trace is not None or not outcome.passed:
                    print(*steps, sep="\n", file=sys.stderr if options.json else sys.stdout)
    except LanesumError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    passed = all(outcome.passed for outcome in outcomes)
    if options.json:
        print(json.dumps({"passed": passed, "runs": [asdict(outcome) for outcome in outcomes]}, indent=2))
    else:
        print(f"{sum(outcome.passed for outcome in outcomes)} of {len(outcomes)} runs as they should be")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
