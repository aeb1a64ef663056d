# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of a row-sparse tensor, such as the gradient of a large embedding, without the dense tensor.

A bitmap of the union of all workers' rows travels first, then the rows of the union as fixed point. So memory and
traffic depend on the union, apart from one bit on the wire and one byte in memory for each row of the tensor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import Aggregate, CodecContext, CodecError, Result, Round, RoundShape, Steps, Vector
from lanesum.codecs.checks import checked_words, refuse_not_finite
from lanesum.codecs.fixed import FixedPoint
from lanesum.codecs.kernels.packing import pack_mask, unpack_mask
from lanesum.codecs.sparse.plan import DENSE_BLOCK
from lanesum.codecs.traits import CodecTraits
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp


class RowUnion:
    """Codec of one all-reduce of a row-sparse tensor. Its vector is this worker's rows, one after the other.

    The unit of the fixed point is a power of two, as in the other sparse codecs.

    Args:
        rows: numbers of this worker's rows, distinct and increasing.
        num_rows: number of rows of the tensor, the same on all workers.
        width: number of values of a row, the same on all workers.
        workers: maximum number of workers of the job.

    Attributes:
        union: numbers of the rows of all workers, increasing; set by ``all_reduce``. The result consists of these rows.
    """

    name = "rows"
    code_table: NDArray[np.uint8] | None = None
    traits = CodecTraits(needs_all_workers=True, nearly_exact=True)

    def __init__(self, rows: NDArray[np.int64], *, num_rows: int, width: int, workers: int) -> None:
        if rows.size and not (rows[0] >= 0 and rows[-1] < num_rows and (np.diff(rows) > 0).all()):
            raise ConfigurationError(
                f"The numbers of {rows.size} rows do not increase from 0 to at most {num_rows - 1}.",
                "Coalesce the tensor.",
            )
        self.workers = workers
        self.union: NDArray[np.int64] = np.empty(0, np.int64)
        self._rows, self._num_rows, self._width = rows, num_rows, width
        self._values = FixedPoint(workers=workers, block=DENSE_BLOCK, power_of_two=True)

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`."""
        return f"{self.name} num_rows={self._num_rows} width={self._width} {self._values.describe()}"

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Raise NotImplementedError: the rounds depend on the rows of the other workers."""
        raise NotImplementedError(f"{size} values of one worker do not determine the union of all workers' rows.")

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`; a round ``index`` (OR), then those of ``fixed``."""
        if x.size != self._rows.size * self._width:
            raise CodecError(f"{x.size} values are not {self._rows.size} rows of {self._width} values.")
        if not self._num_rows * self._width:
            return Result(x.copy())
        if not np.isfinite(x).all():
            refuse_not_finite(x, context)
        mask = np.zeros(self._num_rows, np.bool_)
        mask[self._rows] = True
        index = pack_mask(mask)
        del mask
        reply: Aggregate = yield Round(LaneOp.OR, index, label="index")
        found = unpack_mask(checked_words(reply, RoundShape(LaneOp.OR, index.size)), self._num_rows)
        if not found[self._rows].all():
            raise CodecError("The aggregate of the index round lacks rows of this worker.")
        self.union = np.flatnonzero(found)
        values = np.zeros((self.union.size, self._width), np.float32)
        values[np.searchsorted(self.union, self._rows)] = x.reshape(-1, self._width)
        result: Result = yield from self._values.all_reduce(values.reshape(-1), context)
        return result
