# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Process group of the ranks of a training job, and the end of their processes."""

from __future__ import annotations

import datetime
import logging
import os
import sys
from collections.abc import Callable
from typing import NoReturn

import torch
import torch.distributed as dist

from lanesum.errors import ConfigurationError, LanesumError

# Longer than the transport's deadline: its error names the missing workers, the process group's does not.
_TIMEOUT_S = 120.0


def check_ranks(workers: int) -> None:
    """Raise ConfigurationError unless the process group has as many ranks as the job has workers."""
    ranks = dist.get_world_size()
    if ranks != workers:
        raise ConfigurationError(
            f"The job has {workers} workers, the process group {ranks} ranks.",
            "Start as many ranks as the job has workers.",
        )


def run_in_group(run: Callable[[], int], starter: str) -> int:
    """Run one rank over gloo and return its exit code, that of a ``LanesumError`` included.

    ``starter`` names what starts the ranks, for the message where RANK is not set.
    """
    if "RANK" not in os.environ:
        print(f"This is one rank of a job: start it with {starter}.", file=sys.stderr)
        return ConfigurationError.exit_code
    # One thread per rank: the ranks share the cores of the machine.
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=_TIMEOUT_S))
    try:
        return run()
    except LanesumError as error:
        print(f"rank {dist.get_rank()}: {error}", file=sys.stderr, flush=True)
        return error.exit_code
    finally:
        dist.destroy_process_group()


def end_process(code: int) -> NoReturn:
    """End this process with exit code ``code`` without ending the interpreter: no ``atexit``, no destructors.

    With DDP, gloo's threads outlive ``destroy_process_group``. Python ends such a thread while the interpreter ends, by
    unwinding its stack, and C++ aborts the process for it ("terminate called without an active exception",
    https://github.com/pytorch/pytorch/issues/190489). A successful training would sometimes be reported as failed.

    Flushes output and logs; release all other resources before.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # without a console
            stream.flush()
    os._exit(code)
