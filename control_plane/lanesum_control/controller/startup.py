# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Start of a controller with the jobs of its state. Jobs whose tickets are void begin new incarnations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from lanesum.errors import ConfigurationError
from lanesum_control.controller.reconciler import Reconciler
from lanesum_control.jobs.records import JOINED, Job, JobRequest, checksum
from lanesum_control.planner.network import Network
from lanesum_control.planner.requests import PacketSizes
from lanesum_control.state.store import Store, members_of

_WORDS = "accumulator_words"

Restart = Callable[[Job, JobRequest, str], object]


def start(
    reconciler: Reconciler,
    network: Network,
    store: Store,
    sizes: PacketSizes,
    restart: Restart,
    connect_timeout_s: float,
    start_s: float,
) -> None:
    """Connect switches and servers, and repair them.

    Args:
        sizes: sizes of packets.
        restart: starts a new incarnation of a job with a request, for a reason.

    Raises NotPrimaryError, PipelineError; ConfigurationError if the network lacks a host of a job.
    """
    _check_hosts(reconciler.jobs.values(), network)
    before = store.meta(_WORDS)  # of all jobs, in a state of a version that stored one size
    for name, job in reconciler.jobs.items():
        if job.request.words is None:
            words = sizes.default if before is None else before
            reconciler.jobs = {**reconciler.jobs, name: replace(job, request=replace(job.request, words=words))}
    reconciler.plan = reconciler.planned(reconciler.jobs, store.ranges())
    _change_packets(reconciler, sizes, restart)
    _change_members(reconciler, store, restart)
    reconciler.connect(connect_timeout_s, start_s)
    with reconciler.changing.held_for():
        for job in [job for job in reconciler.jobs.values() if job.incarnation.servers != network.servers]:
            restart(job, job.request, "its servers are others than before")
        reconciler.start()


def _check_hosts(jobs: Iterable[Job], network: Network) -> None:
    """Check that the network has the hosts of stored jobs. Raises ConfigurationError."""
    for job in jobs:
        missing = network.missing(job.request.workers)
        if missing:
            raise ConfigurationError(
                f"Job {job.request.name!r} of the state has workers at {', '.join(missing)}, which the topology lacks.",
                "Start the controller with a topology that has them, and remove the job (lanesum job remove).",
            )


def _change_packets(reconciler: Reconciler, sizes: PacketSizes, restart: Restart) -> None:
    """Begin new incarnations of jobs whose path requires another packet size: switches pass on those of the old size.

    A controller that has lost its switches requires none, so it does not interrupt its jobs.
    """
    for job in list(reconciler.jobs.values()):
        words, before = sizes.required(job.request.workers), job.request.accumulator_words
        if words not in (None, before):
            restart(job, job.request, f"packets have {words} accumulator words now, and had {before}")


def _change_members(reconciler: Reconciler, store: Store, restart: Restart) -> None:
    """Begin new incarnations of jobs whose tickets are void because the topology has changed."""
    for job in list(reconciler.jobs.values()):
        before, now = store.meta(members_of(job.number)), checksum(reconciler.tickets(job))
        if before is not None and (before ^ now) % JOINED:
            restart(job, job.request, "its workers have other addresses or places than before")
        elif before is not None and before > now:
            restart(job, job.request, "its packets pass a switch now")
        elif before != now:  # or an earlier version did not store it
            store.set_meta(members_of(job.number), now)
