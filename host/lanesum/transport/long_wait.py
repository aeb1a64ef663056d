# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Log of waits that take long, and of the workers that a worker waits for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from lanesum.transport.errors import AggregationTimeoutError, round_number
from lanesum.transport.native_worker_loop import WorkerLoop
from lanesum.transport.stats import TransportStats
from lanesum.transport.ticket import JobTicket
from lanesum.transport.worker_loop import Target

#: Time without progress after which a wait is logged, in seconds.
LOG_WAIT_S = 10.0

logger = logging.getLogger(__name__)


def run_and_log(
    loop: WorkerLoop,
    targets: Sequence[Target],
    deadline_s: float,
    ticket: JobTicket,
    stats: Callable[[], TransportStats],
) -> bool:
    """Call ``PythonWorkerLoop.run``, and log a wait of more than ten seconds.

    Args:
        loop, targets, deadline_s: as for ``PythonWorkerLoop.run``, whose result is returned.
        ticket: names the worker, and has the epoch of the first round.
        stats: returns the counts of the rounds.
    """
    if loop.run(targets, min(deadline_s, LOG_WAIT_S)):
        return True
    while deadline_s > LOG_WAIT_S:
        _log(targets, ticket)
        chunks = stats().chunks
        if loop.run(targets, deadline_s - LOG_WAIT_S):
            return True
        if stats().chunks == chunks:
            break
        # The rest of the deadline was counted from the last progress: now the whole one begins.
        if loop.run(targets, LOG_WAIT_S):
            return True
    return False


def log_busy(error: AggregationTimeoutError, busy_s: float) -> None:
    """Log that a deadline has passed, but the missing workers live and are waited for."""
    logger.warning(
        "%s The controller says that it lives, so the wait goes on for up to %g s (busy_s). It may be in a validation, "
        "a checkpoint or a debugger, be stopped, or have fewer batches: uneven inputs need model.join().",
        error.what,
        busy_s,
    )


def _log(targets: Sequence[Target], ticket: JobTicket) -> None:
    state = next((state for state, _ in targets if not state.complete), targets[0][0])
    missing = ", ".join(map(str, state.missing_workers()))
    if missing:
        whom = f"worker {missing}"
    elif state.answered:
        whom = f"results of {ticket.server_names}, which answered before"
    else:
        whom = f"{ticket.server_names}, which did not answer at all"
    logger.warning(
        "Worker %d of job %d has waited %g s in round %d for %s.",
        ticket.worker,
        ticket.job,
        LOG_WAIT_S,
        round_number(ticket, state.epoch),
        whom,
    )
