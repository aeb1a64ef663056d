# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Quotas of tenants that change while their jobs run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from lanesum.rpc.caller import UNAUTHENTICATED, Caller
from lanesum_control.controller.draining import Draining
from lanesum_control.errors import AdmissionError
from lanesum_control.jobs.records import MAX_NAME
from lanesum_control.planner.quotas import Quotas, TenantQuota
from lanesum_control.state.events import CONTROLLER


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
