# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# A busy machine must not fail a test: no example has to end within a time.
settings.register_profile("lanesum", deadline=None)
settings.load_profile("lanesum")
