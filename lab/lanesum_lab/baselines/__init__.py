# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Baselines: published codecs behind the same interface, for comparisons.

Messages that can be added are summed; others are gathered (:mod:`lanesum.codecs.gathered`). The code uses NumPy and is
not optimized for speed, except that of ``thc-paper``, which uses the kernels of ``thc``.
"""

from __future__ import annotations

from lanesum_lab.baselines.dgc import DGC
from lanesum_lab.baselines.eden import EDEN
from lanesum_lab.baselines.floats import GatheredFloats
from lanesum_lab.baselines.powersgd import PowerSGD
from lanesum_lab.baselines.thc_paper import PaperTHC

__all__ = ["DGC", "EDEN", "GatheredFloats", "PaperTHC", "PowerSGD"]
