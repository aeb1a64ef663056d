# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One rank under torchrun: ``python -m lanesum.launch.worker JSON``, a list of [-m] SCRIPT ARGUMENTS.

It runs the script, and keeps its exception for the launcher. If torchrun is killed, the kernel ends the rank.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
import traceback
from pathlib import Path

from lanesum import environment
from lanesum.launch.child import end_with_parent
from lanesum.launch.run_folder import RunFolder

_TAIL_LINES = 12


def main(arguments: list[str]) -> None:
    """Run the script as ``__main__``."""
    end_with_parent(signal.SIGKILL, int(os.environ[environment.TORCHRUN]))
    folder = RunFolder(Path(os.environ[environment.RUN_FOLDER]))
    folder.begin_attempt(int(os.environ.get(environment.RESTART_COUNT, "0")))
    as_module = arguments[0] == "-m"
    sys.argv = arguments[as_module:]
    try:
        if as_module:
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
            runpy.run_path(sys.argv[0], run_name="__main__")
    except Exception:
        tail = traceback.format_exc().rstrip().splitlines()[-_TAIL_LINES:]
        folder.record_failure(int(os.environ[environment.RANK]), "\n".join(tail))
        raise


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
