# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Results of planted bugs: the file of results, and the document that is made of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.planted.catalogue import BUGS, MUTANTS, ROOT, SIMULATOR, SIMULATOR_TEST

RESULTS = Path(__file__).parent / "results.jsonl"
DOCUMENT = ROOT / "docs" / "planted-bugs.md"
_SHORT, _LONG, _NONE, _NOT_RUN = "make test", "make test-all", "none found", "not run"


def read_lines(path: Path) -> dict[str, dict[str, Any]]:
    """Return the results of a file by bug; a later line replaces an earlier one."""
    if not path.exists():
        return {}
    return {result["bug"]: result for result in map(json.loads, path.read_text().splitlines())}


def results() -> dict[str, dict[str, list[str]]]:
    """Return the catching tests of each bug: names by test file."""
    return {name: result["caught"] for name, result in read_lines(RESULTS).items()}


def catching(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return all tests that caught a bug."""
    caught = [result["caught"] for result in found.values()]
    return sorted({f"{file}::{test}" for one in caught for file, tests in one.items() for test in tests})


def add(found: Mapping[str, Mapping[str, Any]]) -> None:
    """Add new results, in the order of the catalogue; results of bugs that are no longer planted go.

    The result without a bug has the tests that fail anyway: they caught nothing.
    """
    new = {name: result["caught"] for name, result in found.items() if not result.get("again")}
    fail_anyway = set(catching({"": found[""]})) if "" in found else set()
    known: dict[str, dict[str, list[str]]] = {}
    for name, caught in {**results(), **new}.items():
        kept = {
            file: [test for test in tests if f"{file}::{test}" not in fail_anyway] for file, tests in caught.items()
        }
        known[name] = {file: tests for file, tests in kept.items() if tests}
    names = [bug.name for bug in (*BUGS, *MUTANTS) if bug.name in known]
    lines = (json.dumps({"bug": name, "caught": known[name]}, ensure_ascii=False) for name in names)
    RESULTS.write_text("".join(f"{line}\n" for line in lines))


def short_tests() -> set[str]:
    """Return the tests of ``make test``."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "--collect-only", "-m", "not long"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {line for line in listed.splitlines() if "::" in line}


def split(caught: Mapping[str, list[str]], short: set[str]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the numbers of catching tests by file: in ``make test``, and in ``make test-all`` alone."""
    counts: tuple[dict[str, int], dict[str, int]] = ({}, {})
    for file, tests in caught.items():
        number = sum(f"{file}::{test}" in short for test in tests)
        if number:
            counts[0][file] = number
        if number < len(tests):
            counts[1][file] = len(tests) - number
    return counts


def write() -> None:
    """Write the document."""
    found, short = results(), short_tests()
    rows: dict[str, list[str]] = defaultdict(list)
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for area, file, name in (
        *((bug.area, bug.file, bug.name) for bug in BUGS),
        *((SIMULATOR, "", mutant.name) for mutant in MUTANTS),
    ):
        in_short, in_long = split(found.get(name, {}), short)
        if area == SIMULATOR:
            in_long[SIMULATOR_TEST] = 1
        where = _SHORT if in_short else _LONG if in_long else _NONE if name in found else _NOT_RUN
        totals[area][where] += 1
        by = ", ".join(f"{Path(path).stem} {count}" for path, count in [*(in_short or in_long).items()][:2])
        module = Path(file).stem if file else "see the simulator"
        row = f"| {name} | {module} | {by} | {where} |"
        rows[area].append(row if len(row) <= 120 else row.replace(by, by.partition(",")[0]))
    DOCUMENT.write_text(_text(rows, totals))


def _text(rows: Mapping[str, list[str]], totals: Mapping[str, Counter[str]]) -> str:
    sums = Counter[str]()
    for total in totals.values():
        sums += total
    summary = [
        f"| {area} | {total.total()} | {total[_SHORT]} | {total[_LONG]} | {total[_NONE]} | {total[_NOT_RUN]} |"
        for area, total in (*totals.items(), ("all", sums))
    ]
    parts = [
        _HEAD,
        *summary,
        *(
            line
            for area, lines in rows.items()
            for line in (
                f"\n## {area.capitalize()}\n",
                "| bug | module | caught by | in |",
                "|---|---|---|---|",
                *lines,
            )
        ),
    ]
    return "\n".join(parts) + "\n"


_HEAD = """\
<!--
SPDX-FileCopyrightText: 2026 the lanesum authors
SPDX-License-Identifier: Apache-2.0

Generated by `python -m tests.planted report`; do not edit.
-->
# Planted bugs

This page lists known bugs of the product and the tests that catch each of them. Use it to decide whether a test can go:
every bug must stay caught by another one.

`tests/planted/` has the catalogue. Each bug replaces one piece of text in one source file. The mutants of the
[simulator](simulator.md#planted-bugs) are planted too; `tests/lab/simulator/test_mutants.py` catches all of them.

```text
python -m tests.planted calls    # record which functions each test of make test calls
python -m tests.planted run      # plant each bug that was not caught yet (--only TEXT, --area AREA, --tests PATH)
python -m tests.planted report   # write this page for the present split of the tests
```

For each bug, the tests that call the changed function run until three test files have caught it, or 5 seconds of tests
have passed. If none has caught it, up to 20 seconds of tests run. The seconds are of processor time, so that a busy
machine finds the same tests. Tests that share words with the bug's name run first, then tests that call the fewest
functions. So the list is not complete: further tests may catch a bug too.
`tests/planted/results.jsonl` has the names of the tests.

| area | bugs | caught by `make test` | only by `make test-all` | by no test that ran | not run |
|---|---|---|---|---|---|"""
