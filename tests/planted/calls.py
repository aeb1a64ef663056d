# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Pytest plugin that records the functions of the product that each test calls.

Run ``python -m pytest -p tests.planted.calls`` with LANESUM_CALLS set to an output file. Each line is a JSON list: the
test, its stage, functions as ``file:name``, and the processor seconds of a call. Child processes append lines of their
own, with stage ``child``.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from tests.planted.recording import name_of, processor_s, record, seen, start_in_child, write

_STARTING = str(Path(__file__).parent / "starting")


def _flush(item: pytest.Item, stage: str, *seconds: float) -> None:
    names = sorted(filter(None, map(name_of, list(seen.values()))))
    seen.clear()
    if names:
        write(item.nodeid, stage, names, *seconds)


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    os.environ["PYTHONPATH"] = os.pathsep.join((_STARTING, os.environ["PYTHONPATH"]))
    os.register_at_fork(after_in_child=start_in_child)
    threading.settrace(record)
    sys.settrace(record)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> object:
    sys.settrace(record)
    seen.clear()
    try:
        return (yield)
    finally:
        _flush(item, "setup")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> object:
    sys.settrace(record)
    begun = processor_s()
    try:
        return (yield)
    finally:
        _flush(item, "call", round(processor_s() - begun, 3))
