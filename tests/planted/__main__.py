# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Plant each known bug once, and list which tests catch it: ``python -m tests.planted calls|run|check|report``.

- ``calls`` runs all tests of ``make test`` once, and records the functions that each of them calls.
- ``run`` plants the bugs in a copy of the working tree, except those that were caught, so that it can be continued.
- ``check`` plants them with their recorded tests alone, and prints catches that are no longer ones.
- ``report`` writes docs/planted-bugs.md from the results, and the present marks of tests.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.planted import planting, report
from tests.planted.catalogue import BUGS, MUTANTS, ROOT, SIMULATOR
from tests.planted.recording import OUTPUT

FOLDER = ROOT / "out" / "planted"
CALLS = FOLDER / "calls.jsonl"
_NEW = FOLDER / "new.jsonl"
_TREE = FOLDER / "tree"
_TESTS = ("tests", "bmv2_tests")


def _environment(tree: Path, **more: str) -> dict[str, str]:
    packages = (tree / name for name in ("host", "fabric", "control_plane", "softswitch", "lab"))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, packages)), **more}


def _pytest(tree: Path, plugin: str, *arguments: str, **environment: str) -> int:
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", "-p", plugin, *arguments]
    return subprocess.run(command, cwd=tree, env=_environment(tree, **environment)).returncode


def record_calls(tests: Sequence[str]) -> None:
    """Record the calls of the tests of ``make test``."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    CALLS.unlink(missing_ok=True)
    _pytest(ROOT, "tests.planted.calls", "-m", "not long", *tests, **{OUTPUT: str(CALLS)})


def _copy_tree() -> None:
    shutil.rmtree(_TREE, ignore_errors=True)
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0"):
        source = ROOT / name
        if name and (source.is_symlink() or source.exists()):
            (_TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, _TREE / name, follow_symlinks=False)


def _start(bugs: Sequence[str], paths: Sequence[str], output: Path = _NEW, **more: object) -> None:
    settings = FOLDER / "settings.json"
    settings.write_text(json.dumps({"calls": str(CALLS), "output": str(output), "bugs": bugs, **more}))
    status = _pytest(_TREE, "tests.planted.running", *paths, LANESUM_PLANTED=str(settings))
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
        sys.exit(f"The tests with planted bugs ended with status {status}; no result is complete.")


def _start_again(output: Path = _NEW, **more: object) -> None:
    """Plant the bugs that need modules of their own, each in a process of its own."""
    found = report.read_lines(output)
    for bug in BUGS:
        if (result := found.get(bug.name)) is not None and result.get("again"):
            source = (ROOT / bug.file).read_text()
            with planting.in_file(bug, _TREE):
                _start([bug.name], result["files"], output, source=source, **more)


def run(names: Sequence[str], tests: Sequence[str]) -> None:
    """Plant bugs, and add their results to the file of results."""
    _copy_tree()
    try:
        _start(names, tests)
        found = report.read_lines(_NEW)
        left = [name for name, result in found.items() if not result["caught"] and not result.get("again")]
        _start(left, tests, thorough=True)
        _start_again()
        _start([], tests, control=report.catching(report.read_lines(_NEW)))
    finally:
        report.add(report.read_lines(_NEW))


def check(names: Sequence[str]) -> list[str]:
    """Plant bugs with their recorded tests alone; return the recorded tests that do not catch their bug."""
    _copy_tree()
    output = FOLDER / "checked.jsonl"
    output.unlink(missing_ok=True)
    recorded = {name: tests for name, tests in report.results().items() if name in names}
    files = sorted({file for tests in recorded.values() for file in tests})
    _start([*recorded], files, output, recorded=recorded)
    _start_again(output, recorded=recorded)
    found = {name: result["caught"] for name, result in report.read_lines(output).items()}
    return [
        f"{name}: {file}::{test}"
        for name, tests in recorded.items()
        for file, one in tests.items()
        for test in one
        if test not in found.get(name, {}).get(file, [])
    ]


def _by_turns(names: Sequence[str]) -> list[str]:
    """Return the names so that the first bug of each file precedes the second of any."""
    files = {bug.name: bug.file for bug in BUGS}
    turns: Counter[str] = Counter()
    order = {}
    for name in names:
        file = files.get(name, SIMULATOR)
        turns[file] += 1
        order[name] = turns[file] if file != SIMULATOR else len(names)
    return sorted(names, key=order.__getitem__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(prog="python -m tests.planted", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=("calls", "run", "check", "report"))
    parser.add_argument("--only", action="append", metavar="TEXT", help="only bugs with this text in their name")
    parser.add_argument("--area", action="append", help="only bugs of this area")
    parser.add_argument("--tests", nargs="+", default=_TESTS, metavar="PATH", help="only tests below these paths")
    parser.add_argument("--again", action="store_true", help="also bugs that were caught")
    options = parser.parse_args(arguments)
    if options.command == "calls":
        record_calls(options.tests)
    elif options.command in ("run", "check"):
        if options.command == "run":
            report.add(report.read_lines(_NEW))  # of a run that was interrupted
            _NEW.unlink(missing_ok=True)
        areas = [(bug.name, bug.area) for bug in BUGS] + [(mutant.name, SIMULATOR) for mutant in MUTANTS]
        known = {} if options.again or options.command == "check" else report.results()
        names = [
            name
            for name, area in areas
            if not known.get(name)
            and (options.only is None or any(text in name for text in options.only))
            and (options.area is None or area in options.area)
        ]
        if options.command == "check":
            wrong = check(names)
            print(*wrong, sep="\n")
            return bool(wrong)
        run(_by_turns(names), options.tests)
    else:
        report.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
