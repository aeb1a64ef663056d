# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""All-gather by sums: each worker has words of its own in one sum, in which the words of all others are zero.

For messages that cannot be added. Each worker sends and receives as many words as all messages have together.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lanesum.codecs.base import CodecContext, Round, RoundShape, Words, never
from lanesum.protocol.lanes import LaneOp


def gathered_shape(words: int, workers: int) -> RoundShape:
    """Return the shape of the round in which ``workers`` workers gather messages of ``words`` words."""
    return RoundShape(LaneOp.ADD32, words * workers)


def gathering(
    message: Words, workers: int, context: CodecContext, label: str = "values", last: Callable[[], bool] = never
) -> Round:
    """Return the round in which this worker sends ``message``; ``checks.summed`` checks its aggregate."""
    words = np.zeros(workers * message.size, np.uint32)
    words[context.worker * message.size : (context.worker + 1) * message.size] = message
    return Round(LaneOp.ADD32, words, label=label, last=last)
