# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests, and how they run side by side (``pytest -n``).

Many tests bind the addresses and ports of the examples on loopback, so each of the processes that run tests side by
side has a network namespace of its own. Where none can be made, all tests run in one process, one after another.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from lanesum_lab.veth import obstacle

# A busy machine must not fail a test: no example has to end within a time.
settings.register_profile("lanesum", deadline=None)
settings.load_profile("lanesum")

ROOT = Path(__file__).parent
_CLONE_NEWNET = 0x40000000
_FILE = pytest.StashKey[TextIO]()

# What takes long is given out before all others, so that no process is left alone with it at the end.
FIRST = (
    "tests/lab/simulator/test_soak.py",
    "bmv2_tests/",
    "tests/lab/run/test_faults.py",
    "tests/lab/run/test_run.py",
    "tests/lab/bench/test_bench_rounds.py",
    "tests/lab/simulator/test_mutants.py",
)
# Files whose tests share nothing.
TEST_BY_TEST = (
    "tests/lab/run/test_run.py",
    "tests/lab/bench/test_bench_rounds.py",
    "tests/lab/simulator/test_mutants.py",
)
# The conformance suite starts a switch of each kind once and keeps it.
_CONFORMANCE = re.compile(r"bmv2_tests/.*\[.*(reference|embedded|bmv2)")


def pytest_configure(config: pytest.Config) -> None:
    missing = [path for path in FIRST + TEST_BY_TEST if not list(ROOT.glob(f"{path.rstrip('/')}*"))]
    if missing:
        raise pytest.UsageError(f"conftest.py names {', '.join(missing)}, which is not there")
    # A script that runs tests in the background has them, and all that they start, ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "workerinput"):
        own_network()
    elif config.getoption("numprocesses", None) and obstacle():
        raise pytest.UsageError(
            "tests run side by side only in network namespaces of their own, because they bind the same addresses: "
            f"{obstacle()}. Use -n 0."
        )


def _last_words(worker: Mapping[str, Any]) -> Path:
    """Where a process that runs tests leaves, if a signal ends it, what its threads were doing."""
    return Path(tempfile.gettempdir()) / f"lanesum-tests-{worker['testrunuid']}-{worker['workerid']}"


def pytest_sessionstart(session: pytest.Session) -> None:
    worker = getattr(session.config, "workerinput", None)
    if worker is not None:
        session.config.stash[_FILE] = _last_words(worker).open("w")
        faulthandler.enable(session.config.stash[_FILE])


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _FILE in session.config.stash:
        Path(session.config.stash[_FILE].name).unlink()


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(report: pytest.TestReport) -> None:
    """Told with the test's failure, not somewhere among the dots of the others."""
    path = _last_words(report.node.workerinput)  # type: ignore[attr-defined]
    with contextlib.suppress(FileNotFoundError):
        report.sections.append(("Threads of the process that died", path.read_text()))
        path.unlink()


def own_network() -> None:
    """Put this process, and those that it will start, into a new network namespace with nothing but a loopback."""
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """For ``-n auto``: one more than processors, because many tests wait; 0 is one process for all."""
    return 0 if obstacle() else (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        return next((place for place, start in enumerate(FIRST) if item.nodeid.startswith(start)), len(FIRST))

    items.sort(key=place)


class Sharing(LoadScopeScheduling):
    """What is given out to one process as a whole, in the order of the collection: a file as a rule."""

    def _split_scope(self, nodeid: str) -> str:
        kind = _CONFORMANCE.match(nodeid)
        if kind is not None:
            return f"bmv2_tests: {kind[1]}"
        path = nodeid.split("::")[0]
        return nodeid if path in TEST_BY_TEST else path

    def remove_node(self, node: WorkerController) -> str | None:
        """As pytest-xdist does, which gives a dead process' files out once more, with those that are done: whoever gets
        one of these has nothing to report, so is given nothing more, and waits for ever."""
        workload = self.assigned_work[node]
        self.assigned_work[node] = {scope: tests for scope, tests in workload.items() if not all(tests.values())}
        return super().remove_node(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Sharing:
    config.option.loadscopereorder = False
    return Sharing(config, log)
