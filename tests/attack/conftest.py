# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The switches of the conformance suite, to be attacked."""

from __future__ import annotations

from bmv2_tests.conftest import running_star, star

__all__ = ["running_star", "star"]
