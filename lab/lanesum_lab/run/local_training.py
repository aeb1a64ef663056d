# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Training of one job of the registry with all workers on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from lanesum.cli import launch
from lanesum.errors import LanesumError
from lanesum_lab.train.jobs import find
from lanesum_lab.train.methods import PEERS, check_method

_MODULE = "lanesum_lab.train.rank"


class TrainingFailedError(LanesumError):
    """A rank of the training failed; its messages precede the error."""


def train(
    job: str, by: str, *, workers: int, switch: str, seed: int, out: Path, arguments: list[str]
) -> list[dict[str, Any]]:
    """Train ``job`` by ``by``; return the ranks' records.

    Args:
        by: name of a method.
        switch: switch on the path of a codec's packets, as for ``lanesum launch``.
        seed: seed of the training, and of the codec's random bits.

    Raises ConfigurationError, TrainingFailedError, and the exceptions of ``lanesum launch``.
    """
    find(job)
    check_method(by, workers)
    command = [job, "--by", by, "--out", str(out), "--seed", str(seed), *arguments]
    if by in PEERS:
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={workers}"]
        status = subprocess.run([*torchrun, "-m", _MODULE, *command], check=False).returncode
    else:
        options = ["--nproc", str(workers), "--switch", switch, "--codec", by, "--seed", str(seed)]
        status = launch.main([*options, "--module", _MODULE, *command])
    if status != 0:
        raise TrainingFailedError(f"The training ended with exit code {status}.", "Read the messages above.")
    return [json.loads((out / f"rank-{rank}.json").read_text()) for rank in range(workers)]
