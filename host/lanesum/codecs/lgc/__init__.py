# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Learned gradient compression (after Abrahamyan et al., "Learned Gradient Compression for Distributed Deep Learning",
2021): all workers send their values at one leader's places, through an autoencoder that is trained on them before.

A research baseline. The method is patented (see docs/lgc.md): ask before it is used for more. Its algorithms were made
anew; what differs from the literature, and why, says each module.
"""

from __future__ import annotations

from lanesum.codecs.lgc.phases import Phase, PhaseBytes
from lanesum.codecs.lgc.ring import RingLGC
from lanesum.codecs.lgc.server import ServerLGC

__all__ = ["Phase", "PhaseBytes", "RingLGC", "ServerLGC"]
