# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Log of waits that take long, and of the workers that a worker waits for."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import Protocol

from lanesum.transport.engine import Engine
from lanesum.transport.errors import AggregationTimeoutError, round_number
from lanesum.transport.native_engine import AnyRoundState
from lanesum.transport.ticket import JobTicket

#: Time without progress after which a wait is logged, in seconds.
LOG_WAIT_S = 10.0

logger = logging.getLogger(__name__)


class Peers(Protocol):
    """The other workers of the job: if they live, and how to tell them of a failure."""

    def are_alive(self, workers: Collection[int]) -> bool:
        """Return True if these workers are known to live."""

    def report_failure(self, error: BaseException) -> None:
        """Tell the others of an exception that ends this worker's part."""

    def address_of(self, worker: int) -> str:
        """Return the host and the source address of a worker; empty if they are not known."""

    def report_failed_chunks(self) -> None:
        """Report chunks whose results failed their check, in the background."""


def run_on(engine: Engine, rounds: Sequence[AnyRoundState], deadline_s: float) -> bool:
    """Log that a wait has taken ``LOG_WAIT_S`` without progress, and wait on; see ``PythonWorkerLoop.run``.

    Args:
        engine: ran the rounds so far.
        rounds: the rounds that are waited for.
        deadline_s: longest time without progress, from the last progress on.
    """
    while deadline_s > LOG_WAIT_S:
        _log(rounds, engine.rounds.ticket)
        chunks = engine.rounds.stats.chunks
        if engine.run(rounds, deadline_s - LOG_WAIT_S):
            return True
        if engine.rounds.stats.chunks == chunks:
            break
        # The rest of the deadline was counted from the last progress: now the whole one begins.
        if engine.run(rounds, LOG_WAIT_S):
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


def _log(rounds: Sequence[AnyRoundState], ticket: JobTicket) -> None:
    state = next((round_ for round_ in rounds if not round_.complete), rounds[0])
    missing = ", ".join(map(str, state.missing_workers()))
    if missing:
        whom = f"worker {missing}"
    elif state.answered:
        whom = f"results of {ticket.server_names}, which answered before"
    else:
        whom = f"{ticket.server_names}, which did not answer at all"
    logger.warning(
        "Worker %d of job %s has waited %g s in round %d for %s.",
        ticket.worker,
        ticket.label,
        LOG_WAIT_S,
        round_number(ticket, state.epoch),
        whom,
    )
