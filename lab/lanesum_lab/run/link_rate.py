# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Rate of the links of a run: a software switch is to them what a chip is to 100 Gbit/s.

A chip takes every packet that its ports receive at 100 Gbit/s. So the links are limited to the rate at which they bring
no more packets than the software switch sums. Both trainings of a run have these links.
"""

from __future__ import annotations

import math

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import FRAME_OVERHEAD_BYTES, WORD_BYTES
from lanesum_lab.builds.rates import WIRE_OVERHEAD
from lanesum_lab.targets import SwitchTarget

__all__ = ["WIRE_OVERHEAD", "line_rate_mbit"]


def line_rate_mbit(target: SwitchTarget, inputs: int) -> float | None:
    """Return the rate of each of ``inputs`` links, in Mbit/s, rounded down to two digits; None if it is not known.

    The packets are contributions of ``EXPAND8``, the operation of the default codec. ``inputs``: number of links that
    bring contributions to the switches of the run, which share a machine.
    """
    if target.packets_per_s is None:
        return None
    words = LaneOp.EXPAND8.shape.uplink_words(target.pipeline(None).accumulator_words)
    frame_bits = 8 * (FRAME_OVERHEAD_BYTES + WORD_BYTES * words + WIRE_OVERHEAD)
    rate = target.packets_per_s / inputs * frame_bits / 1e6
    digit = 10.0 ** (math.floor(math.log10(rate)) - 1)
    return math.floor(rate / digit) * digit
