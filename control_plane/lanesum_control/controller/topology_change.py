# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Effects of another topology on the running jobs, before a controller starts with it. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lanesum_control.controller.reconciler import Reconciler
from lanesum_control.jobs.records import JOINED, Job, checksum
from lanesum_control.planner.network import Network
from lanesum_control.planner.planning import Plan
from lanesum_control.planner.requests import PacketSizes


def differences(reconciler: Reconciler, now: Network, then: Network, sizes: PacketSizes) -> dict[str, Any]:
    """Return the differences of two networks in words, and of each job that changes.

    ``jobs``: switches that sum ``before`` and ``after``; ``restarts``: reasons why the workers join again; ``lacks``:
    hosts that are missing, with which the controller does not start. ``sizes``: of packets, in the network ``then``.
    """
    stays = {name: job for name, job in reconciler.jobs.items() if not then.missing(job.request.workers)}
    planned = reconciler.planned(stays, network=then)
    jobs = {}
    for name, job in reconciler.jobs.items():
        before = [one.switch for one in reconciler.plan.placements[job.number].assignments]
        missing = then.missing(job.request.workers)
        after = [] if missing else [one.switch for one in planned.placements[job.number].assignments]
        restarts = [] if missing else list(_restarts(reconciler, job, planned, then, sizes))
        if missing or restarts or set(before) != set(after):
            jobs[name] = {"before": before, "after": after, "restarts": restarts, "lacks": missing}
    return {"network": list(_network_words(now, then)), "jobs": jobs, "unchanged": len(reconciler.jobs) - len(jobs)}


def _restarts(reconciler: Reconciler, job: Job, planned: Plan, network: Network, sizes: PacketSizes) -> Iterator[str]:
    """Yield the reasons for a new incarnation, as at the start of a controller."""
    if job.incarnation.servers != network.servers:
        yield "its servers are others than before"
    words = sizes.required(job.request.workers)
    if words not in (None, job.request.accumulator_words):
        yield f"packets have {words} accumulator words then, and have {job.request.accumulator_words}"
    before, after = (checksum(reconciler.tickets(job, one)) for one in (reconciler.plan, planned))
    if (before ^ after) % JOINED:
        yield "its workers have other addresses or places than before"
    elif before > after:
        yield "its packets pass a switch then"


def _network_words(now: Network, then: Network) -> Iterator[str]:
    pairs: tuple[tuple[str, Mapping[str, object], Mapping[str, object]], ...] = (
        ("switch", dict.fromkeys(now.switches), dict.fromkeys(then.switches)),
        ("host", _hosts(now), _hosts(then)),
        ("link", _links(now), _links(then)),
    )
    for kind, before, after in pairs:
        for name in [*before, *(name for name in after if name not in before)]:
            if name not in after:
                yield f"{kind} {name} is removed"
            elif name not in before:
                yield f"{kind} {name} is added"
            elif before[name] != after[name]:
                yield f"{kind} {name}: {before[name]} becomes {after[name]}"
    if now.server_hosts != then.server_hosts:
        yield f"servers: {', '.join(now.server_hosts)} becomes {', '.join(then.server_hosts)}"


def _hosts(network: Network) -> dict[str, str]:
    """Return address, switch and port of every host, in words."""
    found = {}
    for name, at in network.at.items():
        seen = network.host(name)
        found[name] = network.address(name) + ("" if seen is None else f" at {at}:{seen.port}")
    return found


def _links(network: Network) -> dict[str, None]:
    return {" - ".join(sorted((f"{one}:{port}", f"{other}:{at}"))): None for one, port, other, at in network.links}
