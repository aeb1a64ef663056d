# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``thc``: Tensor Homomorphic Compression with shared dithers and one norm per block."""

from lanesum.codecs.thc.codec import THC
from lanesum.codecs.thc.widths import WidthTHC

__all__ = ["THC", "WidthTHC"]
