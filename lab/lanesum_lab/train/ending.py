# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The end of a process that has used a process group of PyTorch's.

With DDP, gloo's threads outlive ``destroy_process_group``: they run until the process ends. Python ends such a thread,
when it asks for the interpreter after that has begun to end, by unwinding its stack, and C++ aborts the process for it
("terminate called without an active exception", https://github.com/pytorch/pytorch/issues/190489). A training that went
well would now and then be told as failed.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import NoReturn


def end_process(code: int) -> NoReturn:
    """End this process with exit code ``code``, without ending the interpreter first: no ``atexit``, no destructors.

    Output and logs are flushed; give everything else back before.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # without a console
            stream.flush()
    os._exit(code)
