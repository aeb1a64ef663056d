# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Signals of commands that run until they are stopped."""

from __future__ import annotations

import signal


def wait_for_signal() -> None:
    """Block until SIGINT or SIGTERM arrives, which raises KeyboardInterrupt or SystemExit."""
    while True:
        signal.pause()
