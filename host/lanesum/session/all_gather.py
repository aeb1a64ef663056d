# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""All-gather: every worker gets the bytes of all workers, each of which is sent up once (docs/sharded-training.md)."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import Aggregate, CodecContext, Result, Round, RoundShape, Steps, always
from lanesum.codecs.traits import CodecTraits
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import WORD_BYTES
from lanesum.transport import JobTicket
from lanesum.transport.errors import MismatchError, RoundSize

# Operations by which a word plus zeros is that word.
_OPS = (LaneOp.ADD32, LaneOp.OR, LaneOp.MAX, LaneOp.ADD8X4)
# Behind the bytes of each worker: their number, and the checksum of their description.
_NUM_CHECKS = 2


class AllGather:
    """Codec of one all-gather: one gathered round with the bytes of this worker, of any number and meaning.

    Args:
        ticket: place of this worker in the job.
        description: of the bytes, such as data type and shape; a difference between workers is a MismatchError.
        restored: makes the result from the bytes of all workers.

    Attributes:
        name, traits, workers, code_table: see :class:`lanesum.codecs.base.Codec`.

    Raises ConfigurationError: the job has a quorum, or no operation that leaves words as they are.
    """

    name = "all_gather"
    traits = CodecTraits(nearly_exact=True)
    code_table = None

    def __init__(self, ticket: JobTicket, description: str, restored: Callable[[NDArray[np.uint8]], Any]) -> None:
        if ticket.quorum not in (0, ticket.workers):
            raise ConfigurationError(
                f"An all-gather needs the bytes of all workers, but a result of job {ticket.label} needs only "
                f"{ticket.quorum} of {ticket.workers}.",
                "Admit the job without a quorum.",
            )
        allowed = [op for op in _OPS if op in ticket.ops]
        if not allowed:
            raise ConfigurationError(
                f"Job {ticket.label} was admitted for {', '.join(one.name for one in ticket.ops)}; an all-gather needs "
                f"one of {', '.join(one.name for one in _OPS)}.",
                "Admit the job with one of these operations.",
            )
        self.workers = ticket.workers
        self._ticket, self._op, self._description, self._restored = ticket, allowed[0], description, restored

    def describe(self) -> str:
        """Return the name."""
        return self.name

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return the round of ``size`` bytes."""
        return (RoundShape(self._op, self._num_words(size)),)

    @staticmethod
    def _num_words(size: int) -> int:
        return -(-size // WORD_BYTES) + _NUM_CHECKS

    def all_reduce(self, x: NDArray[Any], context: CodecContext) -> Steps:
        """Gather the bytes ``x``, uint8, one dimension.

        Returns those of all workers, one after the other, as ``restored`` makes them. Raises MismatchError if two
        workers have other descriptions, or numbers of bytes.
        """
        words = np.zeros(self._num_words(x.size), "<u4")
        words.view(np.uint8)[: x.size] = x
        checksum = zlib.crc32(self._description.encode())
        words[-_NUM_CHECKS:] = x.size % (1 << 32), checksum
        reply: Aggregate = yield Round(self._op, words.astype(np.uint32, copy=False), last=always, gathered=True)
        gathered = reply.words.reshape(self.workers, -1)
        checks = gathered[:, -_NUM_CHECKS:]
        if (checks != checks[context.worker]).any():
            self._raise_mismatch(x.size, checks)
        values = np.ascontiguousarray(gathered.astype("<u4", copy=False).view(np.uint8)[:, : x.size])
        return Result(self._restored(values.reshape(-1)))

    def _raise_mismatch(self, size: int, checks: NDArray[np.uint32]) -> None:
        other = int(np.flatnonzero((checks != checks[self._ticket.worker]).any(axis=1))[0])
        other_size = int(checks[other][0])
        raise MismatchError(
            f"Job {self._ticket.label}: worker {other} gathers {other_size:,} bytes, and worker {self._ticket.worker} "
            f"{size:,} bytes of {self._description or 'no description'}; number or meaning differ.",
            "All workers must gather tensors of the same shape and data type, in the same order.",
            other,
            RoundSize(self._op, other_size),
            RoundSize(self._op, size),
        )
