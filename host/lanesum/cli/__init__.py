# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The ``lanesum`` command line."""

from lanesum.cli.app import main

__all__ = ["main"]
