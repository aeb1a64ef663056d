# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Quotas of tenants, and the entries of a switch that jobs use. Nothing here depends on a job, a switch or a store.

A tenant is a caller with the role TENANT; the sum of its jobs is limited. Operators, and callers of a controller that
asks for no identity, have no quota: only the switches limit them.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lanesum.errors import ConfigurationError
from lanesum_control.errors import AdmissionError
from lanesum_fabric.program.capabilities import GROUPS

SLOTS = "guaranteed slots"
_MAX_BUCKETS = 4096  # full ones are forgotten then
# Incarnations that the workers of one job begin per minute by joining again, and at once.
_RESTARTS_PER_MINUTE = 60


@dataclass(frozen=True, slots=True)
class TenantQuota:
    """Quota of every tenant.

    Attributes:
        share: part of the guaranteed slots, table entries and multicast groups of every switch, and of the streams of
            the controller, above 0 and at most 1.
        jobs: admitted jobs.
        admissions_per_minute: attempts to admit, resize or extend a job; this many may follow each other at once. The
            workers of its jobs may begin twice as many incarnations by joining again.
        packets: packets in flight of all jobs, slots times workers of each, which need memory of the servers.
        priority: jobs of tenants of a higher one get slots beyond their quota first, whatever their own priorities.
    """

    share: float = 0.5
    jobs: int = 64
    admissions_per_minute: int = 60
    packets: int = 1 << 18
    priority: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ConfigurationError(f"The share of a tenant is {self.share:g}: expected a number above 0, at most 1.")
        counts = {"jobs": self.jobs, "admissions per minute": self.admissions_per_minute, "packets": self.packets}
        for name, value in counts.items():
            if value < 1:
                raise ConfigurationError(f"A tenant has {value} {name}: expected at least 1.")

    def part(self, size: int) -> int:
        """Return a tenant's part of ``size``, at least one."""
        return max(1, math.floor(self.share * size))


DEFAULT_QUOTA = TenantQuota()


@dataclass(frozen=True, slots=True)
class Quotas:
    """Quotas of all tenants: the ``default`` one, and ``own`` ones by tenant."""

    default: TenantQuota = DEFAULT_QUOTA
    own: Mapping[str, TenantQuota] = field(default_factory=dict)

    def of(self, tenant: str | None) -> TenantQuota:
        """Return the quota of a tenant; the default one for None, of which only the priority counts."""
        return self.default if tenant is None else self.own.get(tenant, self.default)


DEFAULT_QUOTAS = Quotas()


class Rate:
    """Token bucket for each tenant, or for each job. Not thread-safe: the controller's lock protects every call.

    Args:
        clock: monotonic seconds.
        who: what the buckets are of, as in "Tenant".
        what: the attempts, as in "admissions".
    """

    def __init__(self, clock: Callable[[], float], who: str, what: str) -> None:
        self._clock = clock
        self._who, self._what = who, what
        self._buckets: dict[str, tuple[float, float, int]] = {}  # tokens left, when, and of how many per minute

    def take(self, name: str, per_minute: int) -> None:
        """Count an attempt of ``per_minute``, and as many at once.

        Raises AdmissionError if there were too many; this one is not counted then.
        """
        now, rate = self._clock(), per_minute / 60
        left, since, _ = self._buckets.get(name, (float(per_minute), now, per_minute))
        left = min(per_minute, left + (now - since) * rate)
        if left < 1:
            raise AdmissionError(
                f"{self._who} {name!r} has used its {per_minute} {self._what} per minute.",
                f"Try again in {(1 - left) / rate:.1f} s.",
            )
        if name not in self._buckets and len(self._buckets) >= _MAX_BUCKETS:
            self._forget_full(now)
        self._buckets[name] = (left - 1, now, per_minute)

    def _forget_full(self, now: float) -> None:
        """Forget the buckets that are full again."""
        self._buckets = {
            name: (left, since, full)
            for name, (left, since, full) in self._buckets.items()
            if left + (now - since) * full / 60 < full
        }


class TenantRates:
    """Rates of admissions, and of incarnations by workers that join again. Not thread-safe, as ``Rate``."""

    def __init__(self, clock: Callable[[], float]) -> None:
        again = "new incarnations by workers that joined again"
        self._admissions = Rate(clock, "Tenant", "admissions")
        self._incarnations, self._incarnations_of_job = Rate(clock, "Tenant", again), Rate(clock, "Job", again)

    def count_admission(self, tenant: str, quota: TenantQuota) -> None:
        """Count an attempt to admit, resize or extend a job. Raises AdmissionError if there were too many."""
        self._admissions.take(tenant, quota.admissions_per_minute)

    def count_incarnation(self, job: str, tenant: str | None, quota: TenantQuota) -> None:
        """Count an incarnation that a worker begins. Raises AdmissionError if there were too many.

        ``tenant``: owner of the job, with its quota; None if it has none.
        """
        self._incarnations_of_job.take(job, _RESTARTS_PER_MINUTE)
        if tenant is not None:
            self._incarnations.take(tenant, 2 * quota.admissions_per_minute)


class Usage:
    """Entries of one switch in use.

    Args:
        sizes: entries by table; tables without a size are not limited.
        quotas: quotas of the tenants.
    """

    def __init__(self, sizes: Mapping[str, int], quotas: Quotas) -> None:
        self._sizes = sizes
        self._quotas = quotas
        self._used: collections.Counter[str] = collections.Counter()
        self._of_tenants: collections.Counter[tuple[str, str]] = collections.Counter()

    def why_not(self, needed: Mapping[str, int], tenant: str | None) -> str | None:
        """Return the reason why a job does not fit beside the others; None if it does.

        ``tenant``: owner of the job; None if it has no quota.
        """
        for kind, count in needed.items():
            if count == 0 or kind not in self._sizes:
                continue
            size, used = self._sizes[kind], self._used[kind]
            name = kind if kind in (SLOTS, GROUPS) else f"entries of table {kind}"
            if used + count > size:
                return f"other jobs use {used} of {size} {name}, and the job needs {count}"
            part, its = self._quotas.of(tenant).part(size), self._of_tenants[tenant or "", kind]
            if tenant is not None and its + count > part:
                return f"other jobs of tenant {tenant!r} use {its} of its {part} {name}, and the job needs {count}"
        return None

    def entries(self) -> dict[str, tuple[int, int]]:
        """Return the entries in use, and the size, by table; multicast groups count as one."""
        return {kind: (self._used[kind], size) for kind, size in self._sizes.items() if kind != SLOTS}

    def copy(self) -> Usage:
        """Return the same usage, apart from this one."""
        new = Usage(self._sizes, self._quotas)
        new._used, new._of_tenants = self._used.copy(), self._of_tenants.copy()
        return new

    def remove(self, needed: Mapping[str, int], tenant: str | None) -> None:
        """Forget a job."""
        self._used.subtract(needed)
        if tenant is not None:
            self._of_tenants.subtract({(tenant, kind): count for kind, count in needed.items()})

    def add(self, needed: Mapping[str, int], tenant: str | None) -> None:
        """Count a job."""
        self._used.update(needed)
        if tenant is not None:
            self._of_tenants.update({(tenant, kind): count for kind, count in needed.items()})
