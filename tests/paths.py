# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Folders of the checkout."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
