# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A process with a process group ends with its own exit code, whatever PyTorch's threads are about."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lanesum.errors import ConfigurationError
from lanesum_lab.train import group

WITH_A_GROUP = """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
model = DistributedDataParallel(torch.nn.Linear(4, 4))
model(torch.ones(1, 4)).sum().backward()
dist.destroy_process_group()
names = [open(f"/proc/self/task/{thread}/comm").read().strip() for thread in os.listdir("/proc/self/task")]
print("left:", "pt_gloo_runloop" in names)
"""

ENDING = """
import os, sys
from lanesum_lab.train.group import end_process

class Ended:
    def __del__(self, write=os.write):
        write(1, b" and ended")

ended = Ended()
print("said", end="")
print("warned", end="", file=sys.stderr)
"""


def run(code: str, folder: Path) -> tuple[int, str, str]:
    command = [sys.executable, "-W", "ignore", "-c", code]
    # The sitecustomize.py of the tests changes the end of a process, too.
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=folder, env=usual, capture_output=True, text=True, timeout=250)
    return done.returncode, done.stdout, done.stderr


def test_end_process_flushes_output_and_skips_interpreter_exit(tmp_path: Path) -> None:
    assert run(ENDING + "sys.exit(3)", tmp_path) == (3, "said and ended", "warned")
    assert run(ENDING + "end_process(3)", tmp_path) == (3, "said", "warned")


def test_threads_of_group_remain_until_end(tmp_path: Path) -> None:
    """The day they are not, none of this is needed."""
    code, said, _ = run(WITH_A_GROUP + ENDING + "end_process(3)", tmp_path)
    assert (code, said) == (3, "left: True\nsaid")


def test_check_of_other_number_of_ranks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group.dist, "get_world_size", lambda: 3)
    group.check_ranks(3)
    with pytest.raises(ConfigurationError, match=r"^The job has 2 workers, the process group 3 ranks\."):
        group.check_ranks(2)
