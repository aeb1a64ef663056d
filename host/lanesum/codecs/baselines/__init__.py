# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Baselines: published codecs behind the same interface, for comparisons.

Messages that can be added are summed; others are gathered (:mod:`lanesum.codecs.gathered`). The code uses NumPy and is
not optimized for speed.
"""

from __future__ import annotations

from lanesum.codecs.baselines.dgc import DGC
from lanesum.codecs.baselines.floats import GatheredFloats
from lanesum.codecs.baselines.levels import QSGD, TernGrad
from lanesum.codecs.baselines.powersgd import PowerSGD
from lanesum.codecs.baselines.sign import SignVote

__all__ = ["DGC", "QSGD", "GatheredFloats", "PowerSGD", "SignVote", "TernGrad"]
