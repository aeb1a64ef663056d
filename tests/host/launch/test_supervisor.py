# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""End of child processes, and the failures that it finds."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from lanesum.launch.supervisor import ProcessFailedError, Supervisor


def test_stopped_child_is_terminated_not_killed(tmp_path: Path) -> None:
    with Supervisor(tmp_path) as parts:
        child = parts.start("sleeper", ["sleep", "60"])
        os.kill(child.process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, child.process.pid, os.WSTOPPED | os.WNOWAIT)
    assert child.process.returncode == -signal.SIGTERM


def test_child_that_may_end_must_not_fail(tmp_path: Path) -> None:
    with Supervisor(tmp_path) as parts:
        good, bad = (parts.start(name, [name]) for name in ("true", "false"))
        good.process.wait()
        bad.process.wait()
        parts.check(besides=[bad], may_end=[good])
        with pytest.raises(ProcessFailedError, match="true ended with exit code 0"):
            parts.check(besides=[bad])
        with pytest.raises(ProcessFailedError, match="false ended with exit code 1"):
            parts.check(may_end=[good, bad])
