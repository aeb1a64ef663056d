# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Calls of many switches and servers beside each other: one that does not answer delays no other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from typing import TypeVar

_Result = TypeVar("_Result")


def begin(tasks: Mapping[str, Callable[[], _Result]]) -> dict[str, Future[_Result]]:
    """Begin each task in a thread of its own, for which the end of the process does not wait."""
    futures = {}
    for name, task in tasks.items():
        future: Future[_Result] = Future()
        threading.Thread(target=_run, args=(task, future), name=f"lanesum-{name}", daemon=True).start()
        futures[name] = future
    return futures


def _run(task: Callable[[], _Result], future: Future[_Result]) -> None:
    try:
        future.set_result(task())
    except BaseException as error:
        future.set_exception(error)


def results(tasks: Mapping[str, Callable[[], _Result]], timeout_s: float) -> dict[str, _Result]:
    """Return the results of the tasks that end in time, by name. Raises the first exception of these."""
    futures = begin(tasks)
    wait(futures.values(), timeout_s)
    return {name: future.result() for name, future in futures.items() if future.done()}
