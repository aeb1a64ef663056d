# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The loop between rounds and sockets with its compiled part, which runs without holding up other Python threads."""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections.abc import Sequence
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lanesum._internal.offload import Offload, use_gro, use_gso
from lanesum._internal.spin import max_spin_s
from lanesum.protocol.lanes import LaneOp
from lanesum.transport.loop import Wanted, cannot_send, closed_meanwhile
from lanesum.transport.native_rounds import NativeRounds, NativeWindow, as_sent
from lanesum.transport.sockets import ServerSockets
from lanesum.transport.ticket import JobTicket

# How late a signal (Ctrl-C) may be handled.
_SLICE_S = 0.05
# A thread needs microseconds to leave a loop that was closed, once it gets a processor.
_LONGEST_END_S = 1.0

# A compiled round that is over; has ``result()`` and ``contributors()``, as ``NativeWindow`` does.
Over: TypeAlias = Any


def _end(core: Any, inside: threading.Lock) -> None:
    core.close()
    if inside.acquire(timeout=_LONGEST_END_S):
        inside.release()


class NativeLoop:
    """See ``Loop``; for compiled rounds on a kernel's sockets.

    Args:
        native: the compiled module.
        offload: see ``UdpTransport``.
    """

    def __init__(
        self, native: ModuleType, ticket: JobTicket, rounds: NativeRounds, sockets: ServerSockets, offload: Offload
    ) -> None:
        self._ticket = ticket
        self._rounds = rounds
        descriptors = sockets.filenos()
        self._core: Any = native.UdpRounds(
            rounds.core, descriptors, use_gso(native, descriptors, offload), use_gro(offload), max_spin_s()
        )
        self._pause: Any = native.Pause
        self._reached = self._pause.REACHED
        self._ends = (self._pause.REACHED, self._pause.WOKEN, self._pause.DEADLINE)
        self._inside = threading.Lock()
        # A thread that is still in here when the interpreter ends never comes back.
        weakref.finalize(self, _end, self._core, self._inside)

    @property
    def joins(self) -> bool:
        """Packets are handed to the kernel joined, and it has not refused them so far."""
        return bool(self._core.joins)

    def run(self, wanted: Sequence[Wanted], deadline_s: float, leave_s: float | None = None) -> bool:
        """See ``Loop.run``."""
        cores = [window.core for window, _ in wanted if isinstance(window, NativeWindow)]
        for core, (_, chunks) in zip(cores, wanted, strict=True):
            core.await_(chunks)
        self._core.begin(deadline_s, math.inf if leave_s is None else leave_s)
        try:
            with self._inside:
                return self._run(self._core.run(_SLICE_S))
        finally:
            for core in cores:
                core.await_(core.NOBODY)

    def _run(self, pause: Any) -> bool:
        """Go on after a ``pause``."""
        while pause not in self._ends:
            self._check(pause)
            pause = self._core.run(_SLICE_S)
        return bool(pause != self._pause.DEADLINE)

    def exchange(self, op: LaneOp, words: NDArray[np.uint32], deadline_s: float) -> tuple[bool, NativeWindow | Over]:
        """A round from beginning to end, in one call of the compiled part where all goes well.

        Only where no other is under way. Returns False after ``deadline_s`` without progress, else True; and the round,
        as a ``NativeWindow`` where it is not over yet: see ``run``.
        """
        words = as_sent(words)
        with self._inside:
            pause, core = self._core.exchange(op, words, deadline_s, _SLICE_S)
            if pause == self._reached:
                return True, core
            return self._go_on(pause, core, op, words)

    def gather(
        self, vector: NDArray[np.float32], worker: int, workers: int, divisor: float, deadline_s: float
    ) -> tuple[bool, NativeWindow | None, NDArray[np.float32]] | None:
        """All workers' vectors side by side as a round, from beginning to end as in ``exchange``, and their sum over
        ``divisor``. None where the vector is not finite: nothing was sent then. Without a window it is over."""
        words = np.zeros(workers * vector.size, np.uint32)
        values = np.empty_like(vector)
        with self._inside:
            finite, pause, core = self._core.gather(vector, worker, divisor, words, values, deadline_s, _SLICE_S)
            if pause == self._reached:
                return True, None, values
            return (*self._go_on(pause, core, LaneOp.ADD32, words), values) if finite else None

    def _go_on(self, pause: Any, core: Any, op: LaneOp, words: NDArray[np.uint32]) -> tuple[bool, NativeWindow]:
        """A round that one call was not enough for."""
        if core is None:  # closed
            self._check(pause)
        window = self._rounds.adopt(core, op, words)
        try:
            return self._run(pause), window
        finally:
            core.await_(core.NOBODY)

    def send(self) -> None:
        """See ``Loop.send``."""
        with self._inside:
            self._check(self._core.send())

    def attend(self) -> None:
        """See ``Loop.attend``."""
        with self._inside:
            self._check(self._core.attend())

    def wake(self) -> None:
        """See ``Loop.wake``."""
        self._core.wake()

    def close(self) -> None:
        """See ``Loop.close``."""
        self._core.close()

    def _check(self, pause: Any) -> None:
        if pause == self._pause.SLICE:
            return
        if pause in (self._pause.CONFLICT, self._pause.GONE):
            raise self._rounds.verdict(self._core.verdict)
        if pause == self._pause.CLOSED:
            raise closed_meanwhile()
        error: int = self._core.error
        if pause == self._pause.SEND_FAILED:
            raise cannot_send(self._ticket, self._core.failed_server, error)
        raise OSError(error, os.strerror(error))
