# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that end with their parent, also if it ended before they could ask for that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from lanesum.launch import child


def run(parent: int, *command: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-ES", child.__file__, str(int(signal.SIGKILL)), str(parent), *command]
    return subprocess.run(words, capture_output=True, text=True, timeout=250)


def test_child_becomes_command() -> None:
    ended = run(os.getpid(), sys.executable, "-c", "import sys; print(sys.argv); sys.exit(3)", "word")
    assert (ended.returncode, ended.stdout) == (3, "['-c', 'word']\n")


def test_child_whose_parent_has_ended_runs_nothing() -> None:
    ended = run(os.getppid(), sys.executable, "-c", "print('started')")
    assert (ended.returncode, ended.stdout) == (-signal.SIGKILL, "")


def test_child_without_program_says_so() -> None:
    ended = run(os.getpid(), "/no/such/program")
    assert (ended.returncode, ended.stderr) == (1, "Cannot start /no/such/program: No such file or directory.\n")
