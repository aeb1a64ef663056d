# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What every runner does with the controller: admit the job once it answers, keep the switch's counts."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from lanesum import rpc
from lanesum.run.commands import JOB
from lanesum.run.plan import RunPlan
from lanesum.run.supervisor import Supervisor

_CONTROLLER_START_S = 60.0
_TRY_S = 1.0


def admit(supervisor: Supervisor, plan: RunPlan, controller: str, call: Any = rpc.call) -> dict[str, Any]:
    """Admit the run's job as soon as the controller answers.

    Raises ProcessFailedError when a process ends meanwhile, ControllerError when the controller refuses or stays
    silent for a minute.
    """
    message = {"name": JOB, "workers": list(plan.workers), "slots": plan.slots, "codec": plan.codec}
    deadline = time.monotonic() + _CONTROLLER_START_S
    while True:
        supervisor.check()
        try:
            admitted: dict[str, Any] = call(controller, rpc.ADMIT, message, _TRY_S)
            return admitted
        except rpc.UnreachableError:
            if time.monotonic() > deadline:
                raise


def add_switch_counts(report: Path, counts: dict[str, int]) -> None:
    """Put the switch's own packet counts beside what the workers reported."""
    content = json.loads(report.read_text())
    content.setdefault("detail", {})["switch_packets"] = counts
    report.write_text(json.dumps(content, indent=2) + "\n")
