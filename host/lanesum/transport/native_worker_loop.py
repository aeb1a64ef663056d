# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Worker loop of the native extension, which runs without the interpreter's lock."""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lanesum._internal.native import max_spin_s
from lanesum._internal.offload import Offload, use_gro, use_gso
from lanesum.aggregation.pieces import RoundPieces
from lanesum.protocol.lanes import LaneOp
from lanesum.transport.native_rounds import NativeRoundSequence, NativeRoundState, as_sent
from lanesum.transport.sockets import ServerSockets
from lanesum.transport.ticket import JobTicket
from lanesum.transport.worker_loop import cannot_send, closed_in_round

if TYPE_CHECKING:
    from lanesum_native import _core

# Delay of a signal (Ctrl-C), at most.
_SLICE_S = 0.05
# A thread needs microseconds to leave a closed loop, once it has a processor.
_MAX_LEAVE_S = 1.0


def _end(core: _core.WorkerLoop, running: threading.Lock) -> None:
    core.close()
    if running.acquire(timeout=_MAX_LEAVE_S):
        running.release()


class NativeWorkerLoop:
    """Loop with the interface of ``PythonWorkerLoop``, for native rounds on a kernel's sockets.

    Args:
        ticket: the worker's place in the job.
        rounds: rounds to run.
        sockets: sockets of the kernel, not wrapped.
        offload: see ``TransportOptions``.
    """

    supports_pieces = True

    def __init__(
        self, ticket: JobTicket, rounds: NativeRoundSequence, sockets: ServerSockets, offload: Offload
    ) -> None:
        from lanesum_native import _core

        self._ticket = ticket
        self.rounds = rounds
        descriptors = sockets.filenos()
        gso = use_gso(_core, descriptors, offload, joined_packets=ticket.joined_packets)
        self._core = _core.WorkerLoop(rounds.core, descriptors, gso, use_gro(offload), max_spin_s())
        self._exit = exits = _core.LoopExit
        self._reached = exits.REACHED  # looked up once, for small rounds
        self._ends = (exits.REACHED, exits.WOKEN, exits.DEADLINE)
        self._running = threading.Lock()
        # A thread that is still in the loop when the interpreter ends never comes back.
        weakref.finalize(self, _end, self._core, self._running)

    @property
    def gso(self) -> bool:
        """Packets are handed to the kernel joined, and it has not refused them so far."""
        return self._core.gso

    def start(
        self, op: LaneOp, words: NDArray[np.uint32], *, opening: bool = False, pieces: RoundPieces | None = None
    ) -> NativeRoundState:
        """See ``PythonWorkerLoop.start``."""
        round_ = self.rounds.start(op, words, opening=opening, withheld=pieces is not None)
        round_.pieces = pieces
        return round_

    def run(self, rounds: Sequence[Any], deadline_s: float, leave_s: float | None = None) -> bool:
        """See ``PythonWorkerLoop.run``."""
        for round_ in rounds:
            round_.core.set_target(round_.awaited_chunks)
        self._core.begin(deadline_s, math.inf if leave_s is None else leave_s)
        try:
            with self._running:
                return self._resume(self._core.run(_SLICE_S))
        finally:
            for round_ in rounds:
                round_.core.set_target(round_.core.NO_TARGET)

    def _resume(self, reason: _core.LoopExit) -> bool:
        """Resume the loop after an exit, until it ends; return False after the deadline."""
        while reason not in self._ends:
            self._check(reason)
            reason = self._core.run(_SLICE_S)
        return reason != self._exit.DEADLINE

    def exchange(
        self, op: LaneOp, words: NDArray[np.uint32], deadline_s: float
    ) -> tuple[_core.RoundState | None, NativeRoundState | None, bool]:
        """See ``PythonWorkerLoop.exchange``. It is one call of the native extension if all goes well."""
        words = as_sent(words)
        with self._running:
            reason, core = self._core.exchange(op, words, deadline_s, _SLICE_S)
            if reason == self._reached and core is not None:
                return core, None, True
            return None, *self._continue(reason, core, op, words)

    def gather(
        self, vector: NDArray[np.float32], divisor: float, num_appended: int, deadline_s: float
    ) -> tuple[NDArray[np.float32], _core.RoundState | None, NativeRoundState | None, bool] | None:
        """Run a round of all workers' vectors side by side, and return their sum over ``divisor``.

        ``num_appended`` zeros follow the vectors. Returns None if the vector is not finite; nothing was sent then.
        Otherwise returns the array of the sum, and what ``exchange`` returns. The array is filled if there is no round,
        completed or not: all workers have appended zeros then.
        """
        ticket = self._ticket
        words = np.zeros(ticket.workers * vector.size + num_appended, np.uint32)
        values = np.empty_like(vector)
        with self._running:
            finite, reason, core = self._core.gather(
                vector, ticket.worker, ticket.workers, divisor, words, values, deadline_s, _SLICE_S
            )
            if reason == self._reached:
                return values, core, None, True
            return (values, None, *self._continue(reason, core, LaneOp.ADD32, words)) if finite else None

    def _continue(
        self, reason: _core.LoopExit, core: _core.RoundState | None, op: LaneOp, words: NDArray[np.uint32]
    ) -> tuple[NativeRoundState, bool]:
        """Continue a round that one call did not complete."""
        if core is None:
            raise closed_in_round()
        round_ = self.rounds.adopt(core, op, words)
        try:
            return round_, self._resume(reason)
        finally:
            core.set_target(core.NO_TARGET)

    def send(self) -> None:
        """See ``PythonWorkerLoop.send``."""
        with self._running:
            self._check(self._core.send())

    def poll(self) -> None:
        """See ``PythonWorkerLoop.poll``."""
        with self._running:
            self._check(self._core.poll())

    def wake(self) -> None:
        """See ``PythonWorkerLoop.wake``."""
        self._core.wake()

    def close(self) -> None:
        """See ``PythonWorkerLoop.close``."""
        self._core.close()

    def _check(self, reason: _core.LoopExit) -> None:
        """Raise the error of an exit, if it is one."""
        exits = self._exit
        if reason == exits.SLICE:
            return
        if reason in (exits.CONFLICT, exits.GONE):
            raise self.rounds.fatal_error(self._core.fatal_header)
        if reason == exits.CLOSED:
            raise closed_in_round()
        error = self._core.error
        if reason == exits.SEND_FAILED:
            raise cannot_send(self._ticket, self._core.failed_server, error)
        raise OSError(error, os.strerror(error))
