# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Learned gradient compression: all workers send their values at the positions of one leader, through an autoencoder.

After Abrahamyan et al., "Learned Gradient Compression for Distributed Deep Learning" (2021). The autoencoder is trained
on earlier values. This is a research baseline. The method is patented (see docs/lgc.md): ask before any other use. The
code is a new implementation; each module states its differences from the literature.
"""

from __future__ import annotations

from lanesum_lab.lgc.phases import Phase, PhaseBytes
from lanesum_lab.lgc.ring import RingLGC
from lanesum_lab.lgc.server import ServerLGC

__all__ = ["Phase", "PhaseBytes", "RingLGC", "ServerLGC"]
