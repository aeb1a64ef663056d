# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that print a line and wait for one, step by step."""

from __future__ import annotations

import subprocess


def line(process: subprocess.Popen[str]) -> str:
    """Return the next line that a process prints; empty at its end."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def go_on(process: subprocess.Popen[str]) -> None:
    """Let a process go on that waits for a line."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
