# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""End of a process that has used a process group of PyTorch.

With DDP, gloo's threads outlive ``destroy_process_group``: they run until the process ends. Python ends such a thread,
when it asks for the interpreter after that has begun to end, by unwinding its stack, and C++ aborts the process for it
("terminate called without an active exception", https://github.com/pytorch/pytorch/issues/190489). A successful
training would sometimes be reported as failed.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import NoReturn


def end_process(code: int) -> NoReturn:
    """End this process with exit code ``code`` without ending the interpreter: no ``atexit``, no destructors.

    Flushes output and logs; release all other resources before.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # without a console
            stream.flush()
    os._exit(code)
