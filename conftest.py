# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Common set-up of all tests, and their distribution over parallel processes (``pytest -n``).

Many tests bind the addresses and ports of the examples on loopback, so each parallel process has a network namespace of
its own. Without the right to create namespaces, all tests run in one process.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import functools
import gc
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, TextIO

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from lanesum_lab.veth import obstacle

# No time limit for a single example: a busy machine must not fail a test.
settings.register_profile("lanesum", deadline=None)
settings.load_profile("lanesum")

ROOT = Path(__file__).parent
# Its sitecustomize.py shortens the start of Python processes.
_STARTING = str(ROOT / "tests" / "starting")
_CLONE_NEWNET = 0x40000000
_CRASH_FILE = pytest.StashKey[TextIO]()

# Long tests start before all others, so that no process is busy with one of them at the end.
FIRST = (
    "tests/simulator/test_soak.py",
    "bmv2_tests/",
    "tests/lab/run/test_run_faults.py",
    "tests/lab/run/test_run.py",
    "tests/lab/bench/test_bench_rounds.py",
    "tests/simulator/test_simulator_mutants.py",
)
# Folders whose tests are all long: benchmarks' own tests, trainings and frameworks.
LONG = ("tests/lab/bench/", "tests/lab/lgc/", "tests/lab/train/")
# Files whose tests share no fixture: each of their tests may run in any process.
INDEPENDENT = (
    "tests/lab/run/test_run.py",
    "tests/lab/bench/test_bench_rounds.py",
    "tests/simulator/test_simulator_mutants.py",
)


def pytest_configure(config: pytest.Config) -> None:
    missing = [path for path in FIRST + LONG + INDEPENDENT if not list(ROOT.glob(f"{path.rstrip('/')}*"))]
    if missing:
        raise pytest.UsageError(
            f"conftest.py names missing files: {', '.join(missing)}. Correct FIRST, LONG and INDEPENDENT."
        )
    # A shell that runs tests in the background makes them, and their child processes, ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parallel = bool(config.getoption("numprocesses", None))
    if hasattr(config, "workerinput"):
        enter_network_namespace()
    elif parallel and obstacle():
        raise pytest.UsageError(
            f"Tests bind the same addresses, so parallel processes require network namespaces: {obstacle()}. Use -n 0."
        )
    # A choice by measured time would depend on the machine.
    os.environ["LANESUM_STEP_ASIDE"] = "off"
    # Readline sets it for child processes; tables of the command line would be cut to it.
    os.environ.pop("COLUMNS", None)
    # Tests start hundreds of processes: each would compile all modules of this repository.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if hasattr(config, "workerinput") or not parallel:
        # For the processes that tests start, not for those that run tests.
        folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(None, [_STARTING, *folders])))


def _crash_file(worker: Mapping[str, Any]) -> Path:
    """Return the file for the stack traces of a process that a signal ends."""
    return Path(tempfile.gettempdir()) / f"lanesum-tests-{worker['testrunuid']}-{worker['workerid']}"


def pytest_sessionstart(session: pytest.Session) -> None:
    worker = getattr(session.config, "workerinput", None)
    if worker is not None:
        session.config.stash[_CRASH_FILE] = _crash_file(worker).open("w")
        faulthandler.enable(session.config.stash[_CRASH_FILE])


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _CRASH_FILE in session.config.stash:
        Path(session.config.stash[_CRASH_FILE].name).unlink()


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(report: pytest.TestReport) -> None:
    """Append the stack traces of the crashed process to the failure of its test."""
    path = _crash_file(report.node.workerinput)  # type: ignore[attr-defined]
    with contextlib.suppress(FileNotFoundError):
        report.sections.append(("Threads of the crashed process", path.read_text()))
        path.unlink()


def enter_network_namespace() -> None:
    """Move this process and its future children to a new network namespace, which has only a loopback device.

    Raises OSError without the right to do so.
    """
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return the number of processes for ``-n auto``.

    It is one more than the number of processors, because many tests wait; 0 runs all tests in this process.
    """
    return 0 if obstacle() else (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without garbage collection: modules and tests stay until the end, and later collections skip them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(LONG):
            item.add_marker(pytest.mark.long)

    def rank(item: pytest.Item) -> int:
        return next((rank for rank, start in enumerate(FIRST) if item.nodeid.startswith(start)), len(FIRST))

    items.sort(key=rank)


@functools.cache
def _conformance_pattern() -> re.Pattern[str]:
    """Return the pattern of tests of the conformance suite; its group is the switch target."""
    from lanesum_lab import targets

    longest_first = sorted(("reference", *targets.names()), key=len, reverse=True)
    return re.compile(rf"bmv2_tests/.*\[.*({'|'.join(map(re.escape, longest_first))})")


class FileScheduling(LoadScopeScheduling):
    """Scheduler that assigns whole files to processes, in the order of collection.

    Of the conformance suite it assigns all tests of one target, which is started once and kept.
    """

    def _split_scope(self, nodeid: str) -> str:
        target = _conformance_pattern().match(nodeid)
        if target is not None:
            return f"bmv2_tests: {target[1]}"
        path = nodeid.split("::")[0]
        return nodeid if path in INDEPENDENT else path

    def remove_node(self, node: WorkerController) -> str | None:
        """Reassign the unfinished files of a crashed process.

        pytest-xdist reassigns its finished files too. A process with such a file reports nothing, is assigned nothing
        more, and waits without end.
        """
        workload = self.assigned_work[node]
        self.assigned_work[node] = {scope: tests for scope, tests in workload.items() if not all(tests.values())}
        return super().remove_node(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FileScheduling:
    config.option.loadscopereorder = False
    return FileScheduling(config, log)
