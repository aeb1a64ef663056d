# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""torchrun, with the exit status of the rank that failed first: ``python -m lanesum.launch.torchrun ARGUMENTS``."""

from __future__ import annotations

import os
import runpy
import signal
import sys
from pathlib import Path

from lanesum import environment
from lanesum.launch.run_folder import RunFolder
from lanesum.launch.supervisor import ending

SIGNALED = 128  # added to the number of a signal, as shells do


def main(arguments: list[str]) -> int:
    """Run torchrun; return the exit status."""
    sys.argv = ["torchrun", *arguments]
    os.environ[environment.TORCHRUN] = str(os.getpid())
    try:
        runpy.run_module("torch.distributed.run", run_name="__main__", alter_sys=True)
    except Exception as error:
        if (received := getattr(error, "sigval", None)) is not None:  # torch's SignalException
            return SIGNALED + int(received)
        if not hasattr(error, "get_first_failure"):  # torch's ChildFailedError
            raise
        rank, failure = error.get_first_failure()
        status = int(failure.exitcode)
        # A rank that died had no exception. Exceptions of others, such as of gloo, and their aborts follow from it.
        folder, died = RunFolder(Path(os.environ[environment.RUN_FOLDER])), status not in (1, -signal.SIGABRT)
        folder.record_failure(rank, f"It {ending(status)}.", replace=died)
        return status if status > 0 else SIGNALED - status
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)  # the interpreter would take up to a second to take PyTorch down
