# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``thc`` with as many bits on the downlink as on the uplink: eight codes of 4 bits in a word, added as they are sent.

The codes of few workers are so small that their sum fits 4 bits. Words are packed as those of EXPAND8 and added by
ADD32, which every aggregation point has. The workers widen the sums themselves, to the lanes that the kernels decode.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from lanesum.aggregation.combine import Words, expand
from lanesum.codecs.base import CodecContext, Members, Result
from lanesum.codecs.thc.backend import Backend
from lanesum.codecs.thc.blocks import BlockCoder
from lanesum.codecs.thc.codec import THC
from lanesum.codecs.thc.grid import uniform_grid
from lanesum.protocol.lanes import LaneOp

_LANES = 4
#: With more workers there are only two levels, whose error is nearly that of a block that is not sent.
MAX_WORKERS = (2**_LANES - 1) // 2


class NarrowTHC(THC):
    """THC with lanes of 4 bits, for at most ``MAX_WORKERS`` workers; four workers have the levels 0 to 3."""

    def __init__(self, *, workers: int, block: int) -> None:
        super().__init__(workers=workers, block=block, lookup=False)
        self.lanes, self.op = _LANES, LaneOp.ADD32
        self.grid = uniform_grid((2**_LANES - 1) // workers, workers)
        self.traits = replace(self.traits, max_nmse=1.1 * self.grid.error())
        self.coder = BlockCoder(self.grid, LaneOp.EXPAND8, block)

    def _backend(self, x: Any, context: CodecContext) -> Backend | None:
        backend = super()._backend(x, context)
        return None if backend is None else cast(Backend, _Widened(backend))


class _Widened:
    """Backend for sums in lanes of 4 bits, around one for lanes of 8 bits."""

    def __init__(self, backend: Backend) -> None:
        self._inner = backend

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def decode(self, number: int, lanes: Words) -> None:
        self._inner.decode(number, expand(LaneOp.EXPAND8, lanes))

    def decode_members(self, sums: Words, members: Members) -> None:
        of_word = np.repeat(members.of_word, 2)
        self._inner.decode_members(expand(LaneOp.EXPAND8, sums), replace(members, of_word=of_word))

    def result(self, included: bool | NDArray[np.bool_]) -> Result:
        return self._inner.result(np.repeat(included, 2) if np.size(included) > 1 else included)
