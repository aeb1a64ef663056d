# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The command line: ``lanesum``."""

from lanesum.cli.app import main

__all__ = ["main"]
