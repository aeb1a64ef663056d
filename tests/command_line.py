# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Run the ``lanesum`` command in the test process."""

from __future__ import annotations

import contextlib
import io
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from lanesum.cli.app import main


@dataclass(frozen=True, slots=True)
class Invocation:
    """Exit status, and standard output and standard error together."""

    exit_code: int
    output: str


def invoke(arguments: Sequence[str]) -> Invocation:
    """Run ``lanesum ARGUMENTS``, as a shell would."""
    output = io.StringIO()
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            status = main(arguments)
    finally:
        signal.signal(signal.SIGTERM, handler)
    return Invocation(status, output.getvalue())
