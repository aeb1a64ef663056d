# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Check ``slots.pml`` with SPIN: the whole matrix, and that every seeded bug is found.

python models/check.py [--quick] [--json] [--only WORD] [--trace NAME]

A run either *holds* (every reachable state was visited, and no assertion failed) or has to be *found*: a bug that is
switched on, a limit of the protocol that the documents admit, or a decision of the switch that the model must reach.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from lanesum.errors import LanesumError, MissingToolError

MODEL = Path(__file__).with_name("slots.pml")
# Never reached by these models; a search that stopped early does not count, see `parse`.
DEPTH = 100_000
MEMORY_MB = 8_000
RUN_S = 900
# The model is many small processes; partial order reduction finds nothing in it, as every step reads what others write.
COMPILE = ("-O2", "-DSAFETY", "-DNOREDUCE", "-DVECTORSZ=4096", f"-DMEMLIM={MEMORY_MB}")
SEARCH = (f"-m{DEPTH}", "-w22")


@dataclass(frozen=True)
class Run:
    """One search. ``found``: an assertion has to fail."""

    name: str
    kind: str  # "holds", "mutant", "limit", "reached"
    defines: tuple[str, ...]
    quick: bool = False

    @property
    def found(self) -> bool:
        return self.kind != "holds"


@dataclass
class Outcome:
    """What SPIN said."""

    name: str
    kind: str
    defines: tuple[str, ...]
    passed: bool
    complete: bool  # every reachable state was visited
    violated: str  # the assertion that failed, or ""
    states: int
    transitions: int
    depth: int
    search_s: float
    memory_mb: float


def holds(
    workers: int, slots: int, epochs: int, chunks: int, *extra: str, progress: bool = True, quick: bool = False
) -> Run:
    sizes = (f"WORKERS={workers}", f"SLOTS={slots}", f"EPOCHS={epochs}", f"CHUNKS={chunks}")
    name = f"{workers} workers, {slots} slots, {epochs} epochs of {chunks}"
    if extra:
        name += ", " + " ".join(extra)
    return Run(name, "holds", sizes + extra + (("PROGRESS",) if progress else ()), quick)


# Found by wrong or missing results alone (RESULTS_ONLY), not by the assertions about what happens inside.
# CHUNKS=5 with two slots: an epoch is longer than a turn through all entries, so both orders, of epochs and of chunks
# within one, are needed.
_MUTANT = ("WORKERS=2", "SLOTS=2", "EPOCHS=3", "CHUNKS=5", "RESULTS_ONLY", "PROGRESS")
MUTANTS = (
    "BUG_BITMAP_NOT_RESET",
    "BUG_COMPLETE_EARLY",
    "BUG_COUNT_NOT_RESET",
    "BUG_FREE_BIT_IGNORED",
    "BUG_NO_CHUNK_CHECK",
    "BUG_NO_DEDUPE",
    "BUG_NO_EPOCH_CHECK",
    "BUG_NO_REPLAY",
    "BUG_OLDER_ACCEPTED",
    "BUG_ONE_SHADOW_SET",
    "BUG_PLAIN_EPOCH_ORDER",
    "BUG_POSITION_RESTARTS",
    "BUG_REPLAY_INCOMPLETE",
    "BUG_RESULT_EPOCH_UNCHECKED",
    "BUG_STALE_COUNT",
    "BUG_WINDOW_OFF_BY_ONE",
    "BUG_WORDS_NOT_OVERWRITTEN",
)
QUICK_MUTANTS = ("BUG_NO_DEDUPE", "BUG_NO_EPOCH_CHECK", "BUG_WINDOW_OFF_BY_ONE")
_TWO = ("WORKERS=2", "SLOTS=2", "EPOCHS=3", "CHUNKS=3")
REACHED = {
    "CLAIM": _TWO,
    "CLAIM_AND_COMPLETE": ("WORKERS=1", *_TWO[1:]),
    "CONTRIBUTE": ("WORKERS=3", *_TWO[1:]),
    "CONTRIBUTE_AND_COMPLETE": _TWO,
    "REPLAY": _TWO,
    "REPORT_PENDING": _TWO,
    "DROP_LATE": _TWO,
    "DROP_CONFLICT": (*_TWO, "OP_CONFLICT=2"),
}

MATRIX: tuple[Run, ...] = (
    holds(2, 1, 2, 3, quick=True),
    holds(2, 2, 2, 3, quick=True),
    holds(2, 2, 2, 3, "OVERLAP", quick=True),
    # Fan-in 1.
    holds(1, 1, 3, 3),
    holds(1, 2, 3, 3),
    *(
        holds(workers, slots, 3, chunks, *rule)
        for workers in (2, 3)
        for slots in (1, 2)
        for chunks in (1, 2, 3, 5)
        for rule in ((), ("OVERLAP",))
    ),
    # Larger than asked for.
    holds(3, 3, 3, 3, "OVERLAP"),
    holds(4, 2, 3, 3),
    holds(4, 2, 3, 3, "OVERLAP"),
    # A worker that uses another operation stops the job; nothing wrong is summed.
    holds(2, 2, 3, 3, "OP_CONFLICT=2", progress=False),
    holds(3, 2, 3, 3, "OP_CONFLICT=2", progress=False),
    # A switch that loses its registers keeps sums exact, but it may stop the job (see the limit below).
    holds(2, 2, 3, 3, "RESTARTS=1", progress=False),
    holds(3, 1, 3, 3, "RESTARTS=1", progress=False),
    Run("restarted switch, progress", "limit", (*_TWO, "RESTARTS=1", "PROGRESS")),
    *(Run(bug, "mutant", (*_MUTANT, bug), bug in QUICK_MUTANTS) for bug in MUTANTS),
    Run("BUG_NO_CONFLICT_CHECK", "mutant", (*_TWO, "RESULTS_ONLY", "OP_CONFLICT=2", "BUG_NO_CONFLICT_CHECK")),
    *(Run(f"reaches {name}", "reached", (*sizes, f"NEVER={name}")) for name, sizes in REACHED.items()),
)


def tool(name: str, package: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise MissingToolError(f"{name} is not on PATH; the model check needs it.", f"Run: apt install {package}")
    return path


def command(words: list[str], folder: Path) -> str:
    """Standard output of a step that has to succeed."""
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=RUN_S)
    except subprocess.TimeoutExpired as error:
        raise LanesumError(
            f"{Path(words[0]).name} did not end within {RUN_S} s.", "Use fewer workers, slots or chunks."
        ) from error
    if done.returncode != 0:
        raise LanesumError(f"{Path(words[0]).name} failed: {(done.stdout + done.stderr).strip()}")
    return done.stdout


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise LanesumError(f"SPIN's report has nothing like {pattern!r}:\n{text}")
    return float(found[1])


def parse(run: Run, report: str) -> Outcome:
    """Read the report of a search. One that stopped early, for whatever reason, is not complete."""
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
        search_s=number(r"elapsed time ([\d.e+-]+) seconds", report),
        memory_mb=number(r"^\s*([\d.]+)\s+total actual memory", report),
    )


def search(run: Run) -> tuple[Outcome, list[str]]:
    """One run; the second is the way to the assertion that failed, if one did."""
    spin, gcc = tool("spin", "spin"), tool("gcc", "gcc")
    defines = [f"-D{define}" for define in run.defines]
    # SPIN writes all its files into the working folder.
    with tempfile.TemporaryDirectory(prefix="lanesum-model-") as name:
        folder = Path(name)
        shutil.copy(MODEL, folder)
        command([spin, "-a", *defines, MODEL.name], folder)
        command([gcc, *COMPILE, "-o", "pan", "pan.c"], folder)
        outcome = parse(run, command([str(folder / "pan"), *SEARCH], folder))
        steps: list[str] = []
        if outcome.violated:
            replay = command([spin, "-t", "-T", *defines, MODEL.name], folder)
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
        f"{'ok  ' if outcome.passed else 'FAIL'} {outcome.kind:8}{outcome.name:45} {outcome.states:>9,} states "
        f"{outcome.search_s:7.2f} s {outcome.memory_mb:6.0f} MB  {said}"
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check the model of the slot protocol with SPIN.")
    parser.add_argument("--quick", action="store_true", help="two workers, two epochs, three seeded bugs")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of lines")
    parser.add_argument("--only", default="", metavar="WORD", help="runs with this in their name")
    parser.add_argument("--trace", metavar="NAME", help="the steps to the error of one run, for example BUG_NO_DEDUPE")
    options = parser.parse_args(arguments)
    try:
        if options.trace is not None:
            runs = [run for run in MATRIX if run.name == options.trace]
        else:
            runs = list(selected(options.quick, options.only))
        if not runs:
            raise LanesumError("No run has this name.", "Names are in the lines of: python models/check.py")
        outcomes = []
        for run in runs:
            outcome, steps = search(run)
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
