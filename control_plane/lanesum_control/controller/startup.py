# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Start of a controller with the jobs of its state. Jobs whose tickets are void begin new incarnations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import carried_by
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, FULL_ACCUMULATOR_WORDS
from lanesum_control.controller.reconciler import Reconciler
from lanesum_control.jobs.records import JOINED, Job, JobRequest, checksum
from lanesum_control.planner.network import Network
from lanesum_control.state.store import Store, members_of

_WORDS = "accumulator_words"

Restart = Callable[[Job, JobRequest, str], object]


def packet_words(store: Store, *, switched: bool) -> int:
    """Return the default words per packet. A controller that loses its switches does not interrupt its jobs."""
    if switched:
        return DEFAULT_ACCUMULATOR_WORDS
    before = store.meta(_WORDS) if store.jobs() else None
    return FULL_ACCUMULATOR_WORDS if before is None else before


def start(
    reconciler: Reconciler,
    network: Network,
    store: Store,
    words: int,
    restart: Restart,
    connect_timeout_s: float,
    start_s: float,
) -> None:
    """Connect switches and servers, and repair them.

    Args:
        reconciler: switches, servers and jobs.
        network: hosts, switches and links.
        store: persistent state.
        words: accumulator words per packet.
        restart: starts a new incarnation of a job with a request, for a reason.
        connect_timeout_s: time to wait for every switch.
        start_s: time after which switches without an answer are connected later.

    Raises NotPrimaryError, PipelineError; ConfigurationError if the network lacks a host of a job.
    """
    _check_hosts(reconciler.jobs.values(), network)
    reconciler.plan = reconciler.planned(reconciler.jobs, store.ranges())
    _change_packets(reconciler, store, words, restart)
    _change_members(reconciler, store, restart)
    reconciler.connect(connect_timeout_s, start_s)
    with reconciler.changing.held_for():
        for job in [job for job in reconciler.jobs.values() if job.incarnation.servers != network.servers]:
            restart(job, job.request, "its servers are others than before")
        reconciler.start()


def _check_hosts(jobs: Iterable[Job], network: Network) -> None:
    """Check that the network has the hosts of stored jobs. Raises ConfigurationError."""
    for job in jobs:
        missing = [host for host in job.request.workers if host not in network.at]
        if missing:
            raise ConfigurationError(
                f"Job {job.request.name!r} of the state has workers at {', '.join(missing)}, which the topology lacks.",
                "Start the controller with a topology that has them, and remove the job (lanesum job remove).",
            )


def _change_packets(reconciler: Reconciler, store: Store, words: int, restart: Restart) -> None:
    """Begin new incarnations if packets have another size than before: switches pass on those of the old size."""
    before = store.meta(_WORDS)
    if before not in (None, words):
        why = f"packets have {words} accumulator words now, and had {before}"
        for job in list(reconciler.jobs.values()):
            ops = tuple(op for op in job.request.ops or () if op in carried_by(words))
            restart(job, replace(job.request, ops=ops), why)
    store.set_meta(_WORDS, words)


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
