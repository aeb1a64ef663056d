# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Quotas of tenants over all their jobs, and the rate of their admissions."""

from __future__ import annotations

from collections.abc import Callable, Collection

from lanesum_control.errors import AdmissionError
from lanesum_control.jobs.liveness import STREAMS_PER_WORKER
from lanesum_control.jobs.records import JobRequest
from lanesum_control.planner.quotas import TenantQuota


class AdmissionRate:
    """Token bucket for each tenant. Not thread-safe: the controller's lock protects every call.

    Args:
        per_minute: attempts per minute, and at once.
        clock: monotonic seconds.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # tokens left, and when

    def take(self, tenant: str) -> None:
        """Count an attempt. Raises AdmissionError if there were too many; this one is not counted then."""
        now, rate = self._clock(), self._per_minute / 60
        left, since = self._buckets.get(tenant, (float(self._per_minute), now))
        left = min(self._per_minute, left + (now - since) * rate)
        if left < 1:
            raise AdmissionError(
                f"Tenant {tenant!r} has used its {self._per_minute} admissions per minute.",
                f"Try again in {(1 - left) / rate:.1f} s.",
            )
        self._buckets[tenant] = (left - 1, now)


def check_tenant(quota: TenantQuota, tenant: str, jobs: Collection[JobRequest], max_streams: int) -> None:
    """Check all jobs of ``tenant``. Raises AdmissionError if they exceed its quota."""
    if len(jobs) > quota.jobs:
        raise AdmissionError(f"Tenant {tenant!r} has {quota.jobs} jobs, its quota.", "Remove a job.")
    workers = sum(len(job.workers) for job in jobs)
    streams, limit = workers * STREAMS_PER_WORKER, quota.part(max_streams)
    if streams > limit:
        raise AdmissionError(
            f"The {workers} workers of tenant {tenant!r} need {streams} streams of the controller, "
            f"{STREAMS_PER_WORKER} for each worker; its quota is {limit}.",
            "Remove a job, or use fewer workers.",
        )
    packets = sum(job.in_flight * len(job.workers) for job in jobs)
    if packets > quota.packets:
        raise AdmissionError(
            f"The jobs of tenant {tenant!r} would have {packets} packets in flight, slots times workers; its quota is "
            f"{quota.packets}.",
            "Remove a job, or use fewer slots.",
        )
