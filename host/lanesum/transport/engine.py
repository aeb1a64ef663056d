# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Engine of a worker's transport: runs rounds on sockets, in the native extension or in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lanesum.protocol.lanes import LaneOp
from lanesum.transport.native_engine import (
    AnyRoundSequence,
    AnyRoundState,
    NativeRoundSequence,
    NativeWorkerLoop,
    make_round_sequence,
)
from lanesum.transport.options import SessionOptions
from lanesum.transport.sockets import ServerSockets
from lanesum.transport.ticket import JobTicket
from lanesum.transport.worker_loop import PythonWorkerLoop


class CompletedRound(Protocol):
    """A completed round.

    Attributes:
        begin, epoch, failed_results: see ``RoundState``.
    """

    @property
    def begin(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def failed_results(self) -> dict[int, tuple[int, int]]: ...

    def result(self) -> NDArray[np.uint32]:
        """Return the accumulator words, as many as the operation makes of the round's words."""

    def contributors(self) -> NDArray[np.uint32]:
        """Return the bitmaps of the contributors of each packet, shape ``(packets, racks)``."""


class Engine(Protocol):
    """Rounds of a session, and the loop that moves their packets; ``PythonWorkerLoop`` describes its methods."""

    supports_withheld: bool

    @property
    def rounds(self) -> AnyRoundSequence: ...
    def start(
        self,
        op: LaneOp,
        words: NDArray[np.uint32],
        *,
        opening: bool = False,
        withheld: bool = False,
        scattered: bool = False,
    ) -> AnyRoundState: ...
    def run(self, rounds: Sequence[Any], deadline_s: float, leave_s: float | None = None) -> bool: ...
    def exchange(
        self, op: LaneOp, words: NDArray[np.uint32], deadline_s: float
    ) -> tuple[CompletedRound | None, AnyRoundState | None, bool]: ...
    def gather(
        self, vector: NDArray[np.float32], divisor: float, num_appended: int, deadline_s: float
    ) -> tuple[NDArray[np.float32], CompletedRound | None, AnyRoundState | None, bool] | None: ...
    def send(self) -> None: ...
    def poll(self) -> None: ...
    def wake(self) -> None: ...
    def close(self) -> None: ...


def make_engine(ticket: JobTicket, options: SessionOptions, window: int, sockets: ServerSockets) -> Engine:
    """Return the engine of a session: the native extension's, unless it is not available or the options exclude it.

    Args:
        ticket: the worker's place in the job.
        options: see ``SessionOptions``.
        window: maximum number of packets in flight, which the sockets hold.
        sockets: sockets to the job's servers.

    Raises the exceptions of ``make_round_sequence``.
    """
    rounds = make_round_sequence(ticket, window=window, congestion=options.congestion, pacing=options.pacing)
    if isinstance(rounds, NativeRoundSequence) and options.wrap_socket is None:
        return NativeWorkerLoop(ticket, rounds, sockets, options.offload)
    return PythonWorkerLoop(ticket, rounds, sockets)
