# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Plans of jobs for the switches of a fleet, and what the switches refuse of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanesum_control.errors import QuotaError
from lanesum_control.jobs.records import Job
from lanesum_control.planner.allocation import Ranges
from lanesum_control.planner.left_out import Cause, Reason
from lanesum_control.planner.network import Network
from lanesum_control.planner.planning import Plan, plan
from lanesum_control.planner.quotas import TenantQuota
from lanesum_control.state.events import EventLog
from lanesum_control.switches.fleet import Fleet


class SwitchPlans:
    """Plans jobs, and applies plans to the switches. Not thread-safe: the controller's lock protects every call.

    Args:
        network: hosts, switches and links.
        fleet: the controlled switches.
        events: log of refusals.

    Attributes:
        refused: reason why a switch refused a job, by job and switch; that switch is left out of later plans.
    """

    def __init__(self, network: Network, fleet: Fleet, events: EventLog) -> None:
        self._network = network
        self._fleet = fleet
        self._events = events
        self.refused: dict[tuple[int, str], Reason] = {}

    def plan(self, jobs: Mapping[str, Job], held: Ranges, quota: TenantQuota, *, strict: Job | None = None) -> Plan:
        """Return the plan of ``jobs`` for the present switches, with the ranges of ``held`` as far as possible.

        Raises AdmissionError if a job cannot be placed, or the quota of ``strict`` cannot be met.
        """
        reasons = self._unavailable([job.number for job in jobs.values()], held)
        fleet = self._fleet
        return plan(self._network, fleet.capacity, jobs.values(), held, reasons, fleet.capabilities, quota, strict)

    def _unavailable(self, jobs: Sequence[int], held: Ranges) -> dict[tuple[int, str], Reason]:
        reasons = dict(self.refused)
        for switch in self._network.switches:
            for number in jobs:
                if switch not in self._fleet.names:
                    reasons[number, switch] = Reason(Cause.NOT_CONTROLLED, "no controller programs it")
                elif switch in self._fleet.down and number not in held.get(switch, {}):
                    text = f"it cannot be reached: {self._fleet.down[switch]}"
                    reasons[number, switch] = Reason(Cause.LOST, text)
        return reasons

    def apply(self, jobs: Mapping[str, Job], planned: Plan, quota: TenantQuota, *, strict: Job | None = None) -> Plan:
        """Apply a plan of ``jobs`` to the switches. Return the applied one: a job that a switch refuses is planned
        again without that switch.

        Raises QuotaError if a switch refuses ``strict``, whose quota it would have to guarantee.
        """
        while refusals := self._fleet.apply(planned.tables):
            for refusal in refusals:
                if strict is not None and refusal.job == strict.number and strict.request.guaranteed:
                    raise QuotaError(
                        f"A quota of {strict.request.guaranteed} slots cannot be met at {refusal.switch}: "
                        f"{refusal.why}.",
                        "Remove a job, or ask for no quota (lanesum job admit --best-effort).",
                        job=refusal.job,
                        switch=refusal.switch,
                    )
                self.refused[refusal.job, refusal.switch] = Reason(Cause.REFUSED, refusal.why)
                self._events.add(refusal.switch, f"job {refusal.job}: {refusal.why}")
            planned = self.plan(jobs, planned.ranges, quota)
        return planned

    def forget(self, whose: int | str) -> None:
        """Forget the refusals of a job that was not admitted, or of a switch that is connected again."""
        self.refused = {pair: why for pair, why in self.refused.items() if whose not in pair}
