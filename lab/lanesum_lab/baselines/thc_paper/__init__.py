# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``thc-paper`` and ``thc-uniform``: Tensor Homomorphic Compression as published (NSDI 2024)."""

from lanesum_lab.baselines.thc_paper.codec import PaperTHC

__all__ = ["PaperTHC"]
