# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Engine of a worker's transport: runs rounds on sockets, in the native extension or in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from lanesum.transport.native_engine import AnyRoundState, NativeRoundSequence, NativeWorkerLoop, make_round_sequence
from lanesum.transport.options import SessionOptions
from lanesum.transport.sockets import ServerSockets
from lanesum.transport.ticket import JobTicket
from lanesum.transport.worker_loop import PythonWorkerLoop

if TYPE_CHECKING:
    from lanesum_native import _core

#: Rounds of a session, and the loop that moves their packets.
Engine: TypeAlias = PythonWorkerLoop | NativeWorkerLoop
#: A completed round; the native extension's own where one call ran it.
CompletedRound: TypeAlias = "AnyRoundState | _core.RoundState"


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
