# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled part of lanesum. Use it through ``lanesum``; nothing here is a public interface."""

from lanesum_native import _core

__all__ = ["_core"]
