# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Codecs of others, to compare with: behind the same interface, through the same switch.

What can be added is summed; other messages are gathered (:mod:`lanesum.codecs.gathered`). They are written for
comparisons, with NumPy, not for speed.
"""

from __future__ import annotations

from lanesum.codecs.baselines.dgc import DGC
from lanesum.codecs.baselines.floats import GatheredFloats
from lanesum.codecs.baselines.levels import QSGD, TernGrad
from lanesum.codecs.baselines.powersgd import PowerSGD
from lanesum.codecs.baselines.sign import SignVote

__all__ = ["DGC", "QSGD", "GatheredFloats", "PowerSGD", "SignVote", "TernGrad"]
