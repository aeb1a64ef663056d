# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Carry out a plan."""

from __future__ import annotations

from lanesum_lab.run import loopback, mininet
from lanesum_lab.run.plan import TOPOLOGY, RunPlan
from lanesum_lab.run.supervisor import Supervisor
from lanesum_lab.train.report import Report

REPORT = "report.json"
_STALE = (REPORT, "report.png")


def start(plan: RunPlan) -> Report:
    """Run the job and complete its report with what switches, servers and controller counted.

    Whatever happens, no process, namespace or interface is left behind.
    """
    plan.out.mkdir(parents=True, exist_ok=True)
    if plan.topology_source == str(plan.out / TOPOLOGY):
        (plan.out / TOPOLOGY).write_text(plan.topology.to_yaml())
    for name in _STALE:  # a failed run must not look like the one before
        (plan.out / name).unlink(missing_ok=True)
    with Supervisor(plan.out / "logs") as supervisor:
        runner = mininet if plan.runner == "mininet" else loopback
        outcome = runner.run(plan, supervisor)
    report = Report.read(plan.out / REPORT)
    report.add_outcome(outcome.counters, outcome.events, outcome.faults)
    report.write(plan.out / REPORT)
    return report
