# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Start a planned run."""

from __future__ import annotations

import os

from lanesum import environment
from lanesum._internal.output_file import write_file
from lanesum_lab.run import loopback, mininet
from lanesum_lab.run.plan import TOPOLOGY, RunPlan
from lanesum_lab.run.supervisor import RunSupervisor
from lanesum_lab.train.report import Report

REPORT = "report.json"
_STALE = (REPORT, "report.png")


def start(plan: RunPlan) -> Report:
    """Run the job, and complete its report with the counters of switches, servers and controller.

    No process, namespace or interface is left behind, also after an error.
    """
    for name in (environment.TLS, environment.TOKEN_FILE):  # the parts of a run are its own
        os.environ.pop(name, None)
    plan.out.mkdir(parents=True, exist_ok=True)
    if plan.topology_source == str(plan.out / TOPOLOGY):
        write_file(plan.out / TOPOLOGY, plan.topology.to_yaml())
    for name in _STALE:  # no report of an earlier run after a failed one
        (plan.out / name).unlink(missing_ok=True)
    with RunSupervisor(plan.out / "logs") as supervisor:
        runner = mininet if plan.runner == "mininet" else loopback
        outcome = runner.run(plan, supervisor)
    report = Report.read(plan.out / REPORT)
    report.add_outcome(outcome.counters, outcome.events, outcome.faults)
    report.write(plan.out / REPORT)
    return report
