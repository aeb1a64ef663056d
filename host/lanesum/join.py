# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Become a worker of an admitted job."""

from __future__ import annotations

import os
from pathlib import Path

from lanesum import rpc
from lanesum.errors import ConfigurationError
from lanesum.transport.ticket import JobTicket

ENV_TICKET = "LANESUM_TICKET"
ENV_CONTROLLER = "LANESUM_CONTROLLER"
ENV_JOB = "LANESUM_JOB"
ENV_RANK = "RANK"  # set by torchrun


def join(
    *,
    controller: str | None = None,
    job: str | None = None,
    worker: int | None = None,
    timeout_s: float = rpc.DEFAULT_TIMEOUT_S,
) -> JobTicket:
    """The ticket of one worker.

    Args:
        controller: ``host:port`` of the controller; else from LANESUM_CONTROLLER.
        job: the job's name; else from LANESUM_JOB.
        worker: this worker's number; else from RANK, which torchrun sets.
        timeout_s: how long to wait for the controller.

    A ticket is good for one session. A worker that joins a second time starts the job anew, for all workers.

    With LANESUM_TICKET set to a file and no controller given, the ticket is read from there, and the file is renamed
    to ``FILE.used``.

    Raises ConfigurationError when a value is missing, ControllerError when the controller refuses or is silent.
    """
    ticket_file = os.environ.get(ENV_TICKET)
    if ticket_file and controller is None:
        return take_ticket(Path(ticket_file))
    values = {
        ENV_CONTROLLER: controller or os.environ.get(ENV_CONTROLLER),
        ENV_JOB: job or os.environ.get(ENV_JOB),
        ENV_RANK: os.environ.get(ENV_RANK) if worker is None else str(worker),
    }
    missing = [name for name, value in values.items() if not value]
    if missing:
        raise ConfigurationError(
            f"To join a job, {', '.join(missing)} must be set (or given as arguments).",
            "Run under torchrun with the controller's address and the job's name in the environment.",
        )
    rank = values[ENV_RANK] or ""
    if not rank.isdigit():
        raise ConfigurationError(f"{ENV_RANK} = {rank!r} is no worker number.")
    message = {"job": values[ENV_JOB], "worker": int(rank)}
    reply = rpc.call(values[ENV_CONTROLLER] or "", rpc.JOIN, message, timeout_s)
    return JobTicket.from_json(reply["ticket"])


def take_ticket(ticket_file: Path) -> JobTicket:
    """Read a ticket file once: renaming is what no two processes can both do. Raises ConfigurationError."""
    used = ticket_file.with_name(ticket_file.name + ".used")
    try:
        ticket_file.rename(used)
        return JobTicket.from_json(used.read_text())
    except FileNotFoundError as error:
        if used.exists():
            raise ConfigurationError(
                f"The ticket {ticket_file} was used already, and a ticket is good for one session.",
                "Take a new one (lanesum job ticket).",
            ) from error
        raise ConfigurationError(f"There is no ticket {ticket_file}.") from error
    except OSError as error:
        raise ConfigurationError(f"Cannot read the ticket {ticket_file}: {error.strerror}.") from error
