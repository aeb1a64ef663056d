# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Handle of an all-reduce in flight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from numpy.typing import NDArray

from lanesum.codecs.base import Result
from lanesum.session.all_reduce import AllReduce
from lanesum.session.scheduler import AllReduceScheduler

if TYPE_CHECKING:
    import torch

#: The kind of vector that the caller passed, and gets back.
V = TypeVar("V", "NDArray[Any]", "torch.Tensor")


class AllReduceHandle(Generic[V]):
    """An all-reduce in flight; :meth:`lanesum.session.Session.all_reduce_async` makes it.

    A handle must not be used by several threads at once. Its session is not safe for concurrent calls either.
    """

    def __init__(self, scheduler: AllReduceScheduler, all_reduce: AllReduce, shape: tuple[int, ...]) -> None:
        self._scheduler = scheduler
        self._all_reduce = all_reduce
        self._shape = shape

    def done(self) -> bool:
        """Return True if the all-reduce has succeeded or failed; advance it first as far as no wait is needed."""
        if not self._all_reduce.done:
            self._scheduler.progress()
        return self._all_reduce.done

    def wait(self) -> bool:
        """Advance all all-reduces in flight until this one is done; return False if ``Session.wake`` interrupted it."""
        return self._scheduler.wait(self._all_reduce)

    def result(self) -> V:
        """Wait for the sum or mean, and return it in the shape of the vector.

        Raises:
            LanesumError: the exceptions of :meth:`lanesum.session.Session.all_reduce`.
        """
        return cast(V, self.codec_result().values.reshape(self._shape))

    def codec_result(self) -> Result:
        """Wait as ``result`` does, and return the codec's result: flat values, and the residual if it was asked for."""
        while not self.wait():
            pass
        return self._all_reduce.outcome()
