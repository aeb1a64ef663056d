# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Engine of a worker's transport: runs rounds on sockets, in the native extension or in Python."""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, TypeAlias

from lanesum._internal.native import availability
from lanesum._internal.processors import transport_thread_choice
from lanesum.protocol.spec import SLOT_RUN
from lanesum.transport.native_engine import AnyRoundState, NativeRoundSequence, NativeWorkerLoop, make_round_sequence
from lanesum.transport.options import SessionOptions
from lanesum.transport.sockets import ServerSockets
from lanesum.transport.ticket import JobTicket
from lanesum.transport.worker_loop import PythonWorkerLoop

if TYPE_CHECKING:
    from lanesum_native import _core

_log = logging.getLogger(__name__)

#: Rounds of a session, and the loop that moves their packets.
Engine: TypeAlias = PythonWorkerLoop | NativeWorkerLoop
#: A completed round; the native extension's own where one call ran it.
CompletedRound: TypeAlias = "AnyRoundState | _core.RoundState"


def transport_threads(ticket: JobTicket, options: SessionOptions) -> int:
    """Return the number of threads of a session's transport.

    It is that of ``transport_thread_choice`` where several threads are possible.
    One thread serves sessions in Python, and jobs with a quorum, whose chunks complete in step. Each thread needs a run
    of slots (``SLOT_RUN``) in the window.

    Raises ConfigurationError if the environment names no valid number.
    """
    window = ticket.slots if options.window is None else min(options.window, ticket.slots)
    number = min(transport_thread_choice().number, window // (SLOT_RUN * len(ticket.servers)))
    native = availability().core is not None and isinstance(options.congestion, str) and options.wrap_socket is None
    return number if native and number > 1 and not ticket.quorum else 1


def divide_sockets(sockets: ServerSockets, threads: int) -> None:
    """Give each of ``threads`` a socket, if the kernel steers packets to them; else log that once.

    Raises OSError, see ``ServerSockets.divide``.
    """
    refused = sockets.divide(threads) if threads > 1 else None
    if refused is not None:
        _warn_refused(threads, refused.strerror or str(refused))


@functools.cache
def _warn_refused(threads: int, reason: str) -> None:
    _log.warning(
        "The kernel refuses to steer packets to the transport's %d threads by slot: %s. One thread sends and receives.",
        threads,
        reason,
    )


def make_engine(ticket: JobTicket, options: SessionOptions, window: int, sockets: ServerSockets) -> Engine:
    """Return the engine of a session: the native extension's, unless it is not available or the options exclude it.

    Args:
        ticket: the worker's place in the job.
        options: see ``SessionOptions``.
        window: maximum number of packets in flight, which the sockets hold.
        sockets: sockets to the job's servers.

    Raises the exceptions of ``make_round_sequence``.
    """
    shares = len(sockets) if sockets.divided else 1
    rounds = make_round_sequence(
        ticket, window=window, congestion=options.congestion, pacing=options.pacing, shares=shares
    )
    if isinstance(rounds, NativeRoundSequence) and options.wrap_socket is None:
        return NativeWorkerLoop(ticket, rounds, sockets, options.offload)
    return PythonWorkerLoop(ticket, rounds, sockets)
