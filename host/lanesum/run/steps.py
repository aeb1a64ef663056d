# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What every runner does with the controller: admit the job, then start the workers."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from lanesum import rpc
from lanesum.run import commands
from lanesum.run.plan import RunPlan
from lanesum.run.supervisor import Child, Supervisor

_CONTROLLER_START_S = 60.0
_TRY_S = 1.0


def admit(supervisor: Supervisor, plan: RunPlan, controller: str, call: Any = rpc.call) -> dict[str, Any]:
    """Admit the run's job as soon as the controller answers.

    Raises ProcessFailedError when a process ends meanwhile, ControllerError when the controller refuses or stays
    silent for a minute.
    """
    _wait_for_controller(supervisor, controller, call)
    message = {"name": commands.JOB, "workers": list(plan.workers), "slots": plan.slots, "codec": plan.codec}
    # Once, with all the time it may take: a try that was given up may have been carried out all the same.
    admitted: dict[str, Any] = call(controller, rpc.ADMIT, message, _CONTROLLER_START_S)
    return admitted


def _wait_for_controller(supervisor: Supervisor, controller: str, call: Any) -> None:
    deadline = time.monotonic() + _CONTROLLER_START_S
    while True:
        supervisor.check()
        try:
            call(controller, rpc.JOBS, {}, _TRY_S)
            return
        except rpc.UnreachableError:
            if time.monotonic() > deadline:
                raise


def start_workers(
    supervisor: Supervisor,
    plan: RunPlan,
    controller: str,
    *,
    master: tuple[str, int],
    interface: Callable[[str], str],
    at: Callable[[str, list[str]], list[str]],
) -> list[Child]:
    """One training process per worker; the first one has the terminal.

    ``interface`` names a host's interface, ``at`` makes a command run at a host.
    """
    children = []
    for rank, host in enumerate(plan.workers):
        environment = commands.training_environment(controller, interface(host))
        environment |= commands.rank_environment(rank, len(plan.workers), master)
        command = at(host, [sys.executable, *commands.training_arguments(plan)])
        children.append(supervisor.start(host, command, environment=environment, to_terminal=rank == 0))
    return children
