# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Pytest plugin that plants bugs one by one, and runs the tests that can catch each in a fork of this process.

``python -m tests.planted run`` starts it in a copy of the working tree. All tests are collected once. A bug outside
functions needs modules that are imported after it was planted: ``again`` lists such bugs, and the caller starts this
plugin for each of them with the bug in the file.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from conftest import enter_network_namespace
from tests.planted import planting
from tests.planted.bug import Bug
from tests.planted.catalogue import BUGS, MUTANTS, ROOT, SIMULATOR_TEST, mutated_function
from tests.planted.recording import processor_s
from tests.planted.selection import Calls, enclosing, key, of_mirrors
from tests.simulator.mutants import Mutant

SETTINGS = "LANESUM_PLANTED"
MAX_FILES = 3  # catching test files of a bug, after which no more are run
_MAX_TESTS = 2  # catching tests of one file
_TRIED_TESTS = (20, 5)  # tests of the first file, and of each other one, that are run at first
# Processor time of the tests that are run for a bug: at first, if none catches it, and once one has caught it.
_SPECIFIC_S, _THOROUGH_S, _FURTHER_S = 5.0, 20.0, 1.5
_OVERHEAD_S = 0.01  # added to the processor time of a test, so that tests that only wait end too
# Elapsed time, as a test that hangs takes no processor time: limits of a test, after which no further one is run, and
# time without a report after which a fork is ended.
_MIN_TIMEOUT_S, _MAX_TIMEOUT_S, _SILENT_S = 60.0, 120.0, 180.0
_MAX_AGAIN = 12  # test files of a bug that are collected in a process of their own


def plan(calls: Calls, known: Iterable[str], bug: Bug | Mutant, source: str) -> dict[str, list[str]]:
    """Return the tests to run for a bug, by file, in order. ``source``: of the bug's file without the bug."""
    known = list(known)
    if isinstance(bug, Mutant):
        code = mutated_function(bug).__code__
        file = str(Path(code.co_filename).relative_to(ROOT))
        tests = list(calls.of_function(f"{file}:{code.co_qualname}", known))
        return calls.ordered((test for test in tests if test.partition("::")[0] != SIMULATOR_TEST), file, bug.name)
    name = key(bug.file, enclosing(source, bug.line_in(source)))
    tests = list(calls.of_function(name, known)) if name is not None else []
    tests = tests or calls.of_module(bug.file, known)
    return calls.ordered(dict.fromkeys([*tests, *of_mirrors(bug.file, known)]), bug.file, bug.name)


class Runner:
    """Loop over the bugs of the settings: results go to a file, one JSON object in a line."""

    def __init__(self, session: pytest.Session, options: Mapping[str, Any]) -> None:
        self._session = session
        self._options = options
        self._items = {item.nodeid: item for item in session.items}
        self._output = Path(options["output"])
        self._functions = planting.functions_of_process()

    def run(self) -> None:
        """Plant all bugs that are asked for."""
        with contextlib.suppress(OSError):
            enter_network_namespace()
        if "control" in self._options:
            self._control(self._options["control"])
            return
        bugs = {bug.name: bug for bug in (*BUGS, *MUTANTS)}
        for bug in [bugs[name] for name in self._options["bugs"]]:
            begun = time.monotonic()
            result = self._plant(bug)
            result["seconds"] = round(time.monotonic() - begun, 1)
            with self._output.open("a") as file:
                file.write(json.dumps(result) + "\n")

    def _control(self, tests: Iterable[str]) -> None:
        """Run tests without a bug; those that fail are no proof."""
        files: dict[str, list[str]] = defaultdict(list)
        for test in tests:
            if test in self._items:
                files[test.partition("::")[0]].append(test)
        result: dict[str, Any] = {"bug": "", "caught": {}}
        done: set[str] = set()
        while len(done) < sum(map(len, files.values())):
            before = len(done)
            self._fork(files, lambda: True, math.inf, result, done)
            done |= {f"{file}::{test}" for file, found in result["caught"].items() for test in found}
            if len(done) == before:
                break
        with self._output.open("a") as file:
            file.write(json.dumps(result) + "\n")

    def _plant(self, bug: Bug | Mutant) -> dict[str, Any]:
        if isinstance(bug, Mutant):
            return self._results(bug, "", lambda: _plant_mutant(bug))
        if "source" in self._options:
            return self._results(bug, self._options["source"], lambda: True)
        source = (ROOT / bug.file).read_text()
        return self._results(bug, source, lambda: planting.in_process(bug, source, ROOT, self._functions))

    def _results(self, bug: Bug | Mutant, source: str, plant: Callable[[], bool]) -> dict[str, Any]:
        recorded = self._options.get("recorded")
        files = plan(self._calls, self._items, bug, source) if recorded is None else self._known(recorded[bug.name])
        reach = sum(map(len, files.values()))
        result: dict[str, Any] = {"bug": bug.name, "reach": reach, "files": [*files][:_MAX_AGAIN], "caught": {}}
        passed: set[str] = set()
        in_file = isinstance(bug, Bug) and "source" not in self._options
        with planting.in_file(bug, ROOT) if in_file and isinstance(bug, Bug) else contextlib.nullcontext():
            budget = _THOROUGH_S if self._options.get("thorough") else _SPECIFIC_S
            budget = math.inf if "recorded" in self._options else budget
            self._fork(files, plant, budget, result, passed)
        result["run"] = len(passed)
        if not result.get("again"):
            del result["files"]
        return result

    @cached_property
    def _calls(self) -> Calls:
        return Calls.read(Path(self._options["calls"]))

    def _timeout_s(self, test: str) -> float:
        """Return the time after which a test counts as one that hangs."""
        if "recorded" in self._options:  # the calls, and with them the costs, may not be there
            return _MAX_TIMEOUT_S
        return min(max(_MIN_TIMEOUT_S, 10 * self._calls.cost[test]), _MAX_TIMEOUT_S)

    def _known(self, recorded: Mapping[str, list[str]]) -> dict[str, list[str]]:
        """Return the recorded tests of a bug that the session has, by file."""
        files = {file: [f"{file}::{test}" for test in tests] for file, tests in recorded.items()}
        return {file: [test for test in tests if test in self._items] for file, tests in files.items()}

    def _fork(
        self,
        files: Mapping[str, list[str]],
        plant: Callable[[], bool],
        budget: float,
        result: dict[str, Any],
        passed: set[str],
    ) -> None:
        reading, writing = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os.setsid()
            os.close(reading)
            with contextlib.suppress(BaseException), os.fdopen(writing, "w", buffering=1) as pipe:
                self._in_fork(files, plant, budget, passed, pipe.write)
            os._exit(0)
        os.close(writing)
        current, caught = "", result["caught"]
        for line in _lines(reading):
            kind, _, test = line.partition(" ")
            if kind == "begin":
                current = test
            elif kind == "passed":
                current = ""
                passed.add(test)
            elif kind == "failed":
                current = ""
                caught.setdefault(test.partition("::")[0], []).append(test.partition("::")[2])
            elif kind == "again":
                result["again"] = True
        os.close(reading)
        if current:  # it hangs, or has ended the process
            caught.setdefault(current.partition("::")[0], []).append(current.partition("::")[2])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)

    def _in_fork(
        self,
        files: Mapping[str, list[str]],
        plant: Callable[[], bool],
        budget: float,
        passed: set[str],
        tell: Callable[[str], object],
    ) -> None:
        if not plant():
            tell("again \n")
            return
        limited = budget < math.inf
        left, caught = budget, 0
        for position, tests in enumerate(files.values()):
            failed = tried = 0
            max_tried = _TRIED_TESTS[position > 0] if budget == _SPECIFIC_S else math.inf
            for number, test in enumerate(tests):
                if test in passed:
                    continue
                if (limited and failed >= _MAX_TESTS) or tried >= max_tried:
                    break
                if left <= 0:
                    return
                tried += 1
                tell(f"begin {test}\n")
                following = self._items[tests[number + 1]] if number + 1 < len(tests) else None
                timeout_s = self._timeout_s(test)
                begun, begun_s = time.monotonic(), processor_s()
                if self._passes(self._items[test], following, timeout_s):
                    tell(f"passed {test}\n")
                    left -= processor_s() - begun_s + _OVERHEAD_S
                else:
                    failed += 1
                    tell(f"failed {test}\n")
                    left = min(left - (processor_s() - begun_s), _FURTHER_S) if limited else left
                    if limited and time.monotonic() - begun > timeout_s:
                        return
            caught += failed > 0
            if limited and caught >= MAX_FILES:
                return

    def _passes(self, item: pytest.Item, following: pytest.Item | None, timeout_s: float) -> bool:
        """Run one test with its fixtures; return False if any stage fails."""
        with contextlib.suppress(Exception):  # fixtures of another file, after which not all of its tests have run
            self._session._setupstate.teardown_exact(item)
        item.add_marker(pytest.mark.timeout(timeout_s, method="signal"), append=False)
        failures = self._session.testsfailed
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        return self._session.testsfailed == failures


def _lines(reading: int) -> Iterable[str]:
    """Yield the lines of a pipe until its end, or until nothing arrives for a time."""
    data = b""
    while select.select([reading], [], [], _SILENT_S)[0] and (more := os.read(reading, 1 << 16)):
        *lines, data = (data + more).split(b"\n")
        yield from (line.decode() for line in lines)


def _plant_mutant(mutant: Mutant) -> bool:
    mutant.plant(pytest.MonkeyPatch())
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    settings.register_profile("planted", deadline=None, database=None, derandomize=True)
    settings.load_profile("planted")
    Runner(session, json.loads(Path(os.environ[SETTINGS]).read_text())).run()
    return True
