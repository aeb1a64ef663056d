# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import time

import pytest

from lanesum_lab.processor_time import processor_s


def test_processor_time_of_own_process_matches_clock() -> None:
    before = time.process_time()
    found = processor_s(os.getpid())
    assert before <= found <= time.process_time()


def test_processor_time_of_an_ended_process_raises() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    with pytest.raises(OSError, match="Invalid argument"):
        processor_s(process.pid)
