# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Decisions of operators: drains of switches and links, and quotas of tenants that change while their jobs run.

A drain may also follow from failed checks and lost packets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from lanesum.rpc.caller import UNAUTHENTICATED, Caller
from lanesum.rpc.controller import one_line
from lanesum_control.controller.queries import Queries
from lanesum_control.controller.reconciler import Drains
from lanesum_control.errors import AdmissionError, UnknownSwitchError
from lanesum_control.jobs.left_out import Drain
from lanesum_control.jobs.records import MAX_NAME, Job
from lanesum_control.planner.quotas import Quotas, TenantQuota
from lanesum_control.state.events import CONTROLLER

_MAX_REASON = 200  # characters of the reason of a drain


class Draining(Queries):
    """Drains of switches, which the state keeps until their return."""

    def drain(
        self, switch: str, why: str, caller: Caller = UNAUTHENTICATED, *, name: str | None = None
    ) -> dict[str, list[str]]:
        """Let a switch sum for no job, or not for the job ``name``, until ``undrain``. Running sessions continue.

        The state keeps the decision with its reason ``why``; a second one replaces the reason. The switch still routes.
        ``switch``: or a link between a rack and a spine by its name, which paths of all jobs avoid then.

        Returns the switches that sum now, for each job that the switch had a part in; none where the server does.
        Raises UnknownSwitchError, UnknownJobError, AdmissionError without a reason.
        """
        reconciler = self.reconciler
        if not why.strip() or len(why) > _MAX_REASON:
            raise AdmissionError(f"A drain needs a reason of 1 to {_MAX_REASON} characters.")
        with reconciler.changing.held_for(switch):
            self._check(switch, name)
            number = None if name is None else self._job(name).number
            jobs = self._jobs_at(switch)
            drain = Drain(switch, number, one_line(why), self.events.now())
            drains = {**reconciler.drains, (switch, number): drain}
            self._change_drains(drains, f"drained: {drain.why}", drain, caller)
            return {
                job.request.name: [one.switch for one in reconciler.plan.placements[job.number].assignments]
                for job in jobs
                if number in (None, job.number)
            }

    def undrain(self, switch: str, caller: Caller = UNAUTHENTICATED, *, name: str | None = None) -> list[str]:
        """Give a drained switch parts in jobs again. Returns the jobs that it sums for.

        Raises UnknownSwitchError, UnknownJobError; AdmissionError if it is not drained.
        """
        reconciler = self.reconciler
        with reconciler.changing.held_for(switch):
            self._check(switch, name)
            number = None if name is None else self._job(name).number
            drain = reconciler.drains.get((switch, number))
            if drain is None:
                others = [one for one in reconciler.drains.values() if one.switch == switch]
                raise AdmissionError(
                    f"Switch {switch} is not drained{' for all jobs' if name is None else f' for job {name!r}'}.",
                    "Name the job that it is drained for, or none: lanesum controller switches lists the drains."
                    if others
                    else "",
                )
            left = {key: one for key, one in reconciler.drains.items() if one != drain}
            self._change_drains(left, "returned to its jobs", drain, caller)
            return [job.request.name for job in self._jobs_at(switch)]

    def _jobs_at(self, name: str) -> list[Job]:
        """Return the jobs with a part at a switch, or at both ends of a link."""
        rack, _, spine, _ = self.network.spine_links.get(name, (name, 0, name, 0))
        tables = self.reconciler.plan.tables
        jobs = self.reconciler.jobs.values()
        return [job for job in jobs if job.number in tables[rack] and job.number in tables[spine]]

    def avoid_cut_links(self) -> None:
        """Drain the links to spines that pass no packets, until an operator returns them."""
        if self.workers.jobs_alive():
            for name, why in self.reconciler.cut_links().items():
                self.drain(name, f"it is cut: {why}")

    def _check(self, switch: str, job: str | None) -> None:
        """Raise UnknownSwitchError; AdmissionError for a link and one job."""
        if switch in self.network.spine_links:
            if job is not None:
                raise AdmissionError(f"Link {switch} cannot be drained for one job.", "Drain it for all jobs.")
        elif switch not in self.reconciler.switches:
            known = ", ".join(self.reconciler.switches) or "none"
            raise UnknownSwitchError(f"No switch {switch!r} is controlled; there is {known}.")

    def _change_drains(self, drains: Drains, what: str, changed: Drain, caller: Caller) -> None:
        """Store ``drains``, of which ``changed`` is new or gone, and plan again; ``what`` is the event."""

        def save() -> None:
            self._store.undrain(changed.switch, changed.job)
            if changed in drains.values():
                self._store.drain(changed)
            names = [name for name, job in self.reconciler.jobs.items() if job.number == changed.job]
            self.events.add(changed.switch, f"{what}{''.join(f' (job {name})' for name in names)}", caller)

        self.reconciler.replan(save, drains=drains)

    def leave_out(self, number: int, switch: str, why: str) -> None:
        """Drain a switch for one job until an operator returns it, unless the job is gone."""
        with self.reconciler.changing.held_for(switch):
            name = next((name for name, job in self.reconciler.jobs.items() if job.number == number), None)
            is_drained = any((switch, one) in self.reconciler.drains for one in (None, number))
            if name is not None and switch in self.reconciler.switches and not is_drained:
                self.drain(switch, why, name=name)


class Tenants(Draining):
    """Quotas of tenants, which the state keeps."""

    def change_tenant(
        self, tenant: str, changes: Mapping[str, Any] | None, caller: Caller = UNAUTHENTICATED
    ) -> TenantQuota:
        """Change fields of a tenant's quota while its jobs run, or with None give it the default quota; return it.

        Jobs beyond a smaller share keep running; the servers sum for them. Raises AdmissionError, ConfigurationError.
        """
        reconciler = self.reconciler
        if not tenant.strip() or not tenant.isprintable() or len(tenant) > MAX_NAME:
            raise AdmissionError(f"{tenant[:MAX_NAME]!r} is no name of a tenant.")
        with reconciler.changing.held_for(tenant):
            quota = None if changes is None else replace(reconciler.quotas.of(tenant), **changes)
            what = "has the default quota again" if quota is None else f"has the quota {_described(quota)}"

            def save() -> None:
                self._store.set_tenant(tenant, quota)
                self.events.add(CONTROLLER, f"tenant {tenant!r} {what}", caller)

            own = {name: one for name, one in {**reconciler.quotas.own, tenant: quota}.items() if one is not None}
            reconciler.replan(save, quotas=Quotas(reconciler.quotas.default, own))
            return reconciler.quotas.of(tenant)


def _described(quota: TenantQuota) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in asdict(quota).items())
