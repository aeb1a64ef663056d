# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``thc-widths``: THC with a width of codes for each block, by the norms that all workers have."""

from lanesum_lab.widths.codec import WidthTHC

__all__ = ["WidthTHC"]
