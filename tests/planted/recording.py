# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Record of the functions of the product that a process calls."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).parent.parent.parent
OUTPUT = "LANESUM_CALLS"
PACKAGES = tuple(str(ROOT / folder) + os.sep for folder in ("host", "fabric", "control_plane", "softswitch"))
seen: dict[int, CodeType] = {}


def name_of(code: CodeType) -> str | None:
    """Return ``file:name`` of a function of the product; None for any other."""
    if not code.co_filename.startswith(PACKAGES):
        return None
    return f"{code.co_filename[len(str(ROOT)) + 1 :]}:{code.co_qualname}"


def processor_s() -> float:
    """Return the processor time of this process, and of its children that have ended, in seconds."""
    return sum(os.times()[:4])


def write(*row: object) -> None:
    """Append one line to the output; lines of several processes do not mix."""
    with open(os.environ[OUTPUT], "a") as file:
        file.write(json.dumps(row) + "\n")


def record(frame: FrameType, event: str, argument: object) -> None:
    code = frame.f_code
    if seen is not None:  # None: the interpreter ends
        seen.setdefault(id(code), code)


def _record_of_child(frame: FrameType, event: str, argument: object) -> None:
    code = frame.f_code
    if id(code) not in seen:
        seen[id(code)] = code
        if (name := name_of(code)) is not None and code.co_name != "<module>":
            write(os.environ.get("PYTEST_CURRENT_TEST", "").rsplit(" (", 1)[0], "child", [name])


def start_in_child() -> None:
    """Record the calls of this process, which a test started or forked."""
    seen.clear()
    threading.settrace(_record_of_child)
    sys.settrace(_record_of_child)
