# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Native extension of lanesum. Use it through ``lanesum``; it has no public interface."""

from lanesum_native import _core

__all__ = ["_core"]
