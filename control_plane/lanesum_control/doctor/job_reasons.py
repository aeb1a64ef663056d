# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Reasons why a job is slow, or summed by the server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lanesum.doctor.finding import Finding, Severity, note, ok, problem
from lanesum.protocol.spec import HEADER_BYTES, IPV4_BYTES, UDP_BYTES, WORD_BYTES
from lanesum.rpc import controller as rpc
from lanesum_control.doctor import site
from lanesum_control.jobs.left_out import Cause

_MAX_EVENTS = 5
_LOST_SHARE, _SERVER_SHARE = 0.001, 0.01
_PEER_SHARE, _NEEDLESS_SHARE, _REORDERED_SHARE = 0.05, 0.01, 0.05
# Next steps by the kind of reason for which a switch has no part in a job.
_STEPS = {
    Cause.LOST: "Start the switch, or look at its log; the controller connects it again by itself.",
    Cause.DRAINED: "Return it when its work is done: lanesum controller undrain NAME.",
    Cause.NOT_CONTROLLED: "Start the controller with --switch NAME=ADDRESS for it.",
    Cause.REFUSED: "Look at the log of the switch; remove other jobs if its tables are full.",
    Cause.FULL: "Give the job fewer slots (lanesum job resize), or remove other jobs.",
    Cause.PROGRAM: "Admit the job with a codec whose operations the switch's program has.",
    Cause.PORTS: "Attach all workers of the job to ports of one pipe, or give it a recirculation port.",
    Cause.OWNER: "Admit the job again: it gets another tag.",
    Cause.BITMAP: "Use fewer workers, or spread them over fewer switches.",
    Cause.SAME_HOST: "Move the server to a host without a worker of the job.",
    Cause.QUORUM: "Admit the job without --quorum if all workers are needed anyway.",
    Cause.BYPASSED: "Connect all servers to the switch that links the racks.",
    Cause.INCOMPLETE: "Repair the switches of these workers first; their own reasons are listed too.",
}
_STEP = "docs/jobs.md explains the placement of jobs."  # of a controller of another version


def checks(
    job: Mapping[str, Any],
    figures: Mapping[str, Any],
    examined: Mapping[str, Any] | None,
    events: Sequence[Mapping[str, Any]],
) -> Iterator[Finding]:
    """Report what slows a job down.

    Args:
        job: answer to ``rpc.JOBS``.
        figures: of the job in ``live_view.view``: the last second.
        examined: answer to ``rpc.EXAMINE``; None for callers who may not examine the controller.
    """
    found = [
        *missing_workers(job),
        *workers_in_trouble(job["name"], figures),
        *moved_sums(job),
        *small_windows(job),
        *parts(examined),
    ]
    yield from found
    switches = ", ".join(job["placement"]) or "no switch"
    if not found:
        yield ok(
            f"job {job['name']}",
            f"All {len(job['workers'])} workers have joined, and {switches} sums for it. The time is spent in the "
            "workers or in the network: look at state.stats.as_dict() there, and run lanesum doctor --controller at "
            "each worker.",
        )
    yield ok("packets", packets(job))
    for event in [one for one in events if one["whom"] == job["name"]][-_MAX_EVENTS:]:
        yield ok("event", f"{event['date']}: {event['what']}")


def packets(job: Mapping[str, Any]) -> str:
    """Return the packet size of a job in words and bytes, and the window."""
    payload = HEADER_BYTES + job["words"] * WORD_BYTES
    return (
        f"Results have {job['words']:,} words: {IPV4_BYTES + UDP_BYTES + payload:,} bytes of IPv4. At most "
        f"{job['slots']:,} packets of a worker are in flight."
        f"{' The last words are check words: sums are certified.' if job['certified'] else ''}"
    )


def missing_workers(job: Mapping[str, Any]) -> Iterator[Finding]:
    """Report workers that the others wait for."""
    missing = [worker for worker in job["workers"] if worker not in job["joined"]]
    if missing:
        yield problem(
            f"job {job['name']}",
            f"{', '.join(missing)} of {len(job['workers'])} workers have not joined: the others wait for them.",
            "Start them, or remove them from the job: lanesum job leave NAME HOST.",
        )


def workers_in_trouble(name: str, figures: Mapping[str, Any]) -> Iterator[Finding]:
    """Report workers that are gone, that the others wait for, or whose packets are lost, marked or not summed."""
    subject = f"job {name}"
    if figures["workers"] and all(one["state"] == rpc.LEFT for one in figures["workers"]):
        step = f"Remove it: lanesum job remove {name}, or start it again: lanesum job admit takes its place."
        yield note(subject, f"All {len(figures['workers'])} workers have left: the job has ended.", step)
        return
    for one in figures["workers"]:
        host = one["host"]
        lost, peers, needless, reordered, by_server = (
            one[f"{kind}_share"] or 0.0 for kind in ("lost", "peer", "needless", "reordered", "server")
        )
        if one["state"] in rpc.GONE_KINDS:
            step = f"Look at its log, and start it again, or go on without it: lanesum job leave {name} {host}"
            yield problem(subject, f"Worker {host} is gone ({one['state']}).", step)
        if one["straggler"]:
            yield note(
                subject,
                f"The chunks of the other workers wait for {host}: it contributes later than they do.",
                f"Look at processor, data loading and clock rate of {host}: lanesum doctor there.",
            )
        if lost > _LOST_SHARE:
            yield note(
                subject,
                f"{lost:.1%} of the packets of {host} were lost in the last second, and retransmitted.",
                f"At {host}: lanesum doctor --controller ADDRESS, and ip -s link; a smaller window loses fewer.",
            )
        if peers > _PEER_SHARE:
            yield note(
                subject,
                f"{peers:.1%} of the packets of {host} were retransmitted while another worker was late. None of them "
                "was lost.",
                "Look at the workers that the others wait for: lanesum top shows them as stragglers.",
            )
        if needless > _NEEDLESS_SHARE:
            yield note(
                subject,
                f"{needless:.1%} of the packets of {host} were retransmitted without need: their results were on the "
                "way.",
                f"Look at the load of processors at {host} and at the servers: lanesum doctor there.",
            )
        if reordered > _REORDERED_SHARE:
            yield note(
                subject,
                f"{reordered:.1%} of the results of {host} arrived after that of a later packet.",
                "Look for several links that share the packets of one flow, as with round-robin bonding.",
            )
        if one["marks_per_s"]:
            yield note(
                subject,
                f"{host} gets {one['marks_per_s']:,.0f} congestion marks a second: a queue on its path is long.",
                "Look for other traffic at its link; docs/running.md explains --mark-above.",
            )
        if by_server > _SERVER_SHARE:
            yield note(
                subject,
                f"The server completes {by_server:.0%} of the results of {host}.",
                "Retransmissions, full slots, or a switch that is left out cause it: lanesum job counters.",
            )


def moved_sums(job: Mapping[str, Any]) -> Iterator[Finding]:
    """Report switches that do not sum for the job, since when, and why."""
    for switch, moved in job["moved"].items():
        yield note(
            f"job {job['name']}",
            f"The server sums in place of {switch} since {moved['since']}: {moved['why']}. It receives the packets of "
            "all workers there.",
            _STEPS.get(moved.get("cause"), _STEP),
        )
    if not job["placement"] and not job["moved"]:
        yield note(
            f"job {job['name']}",
            "The controller has no switch: the server sums.",
            "Start the controller with --switch NAME=ADDRESS.",
        )


def small_windows(job: Mapping[str, Any]) -> Iterator[Finding]:
    """Report switches that gave the job fewer slots than it asked for, or only shared ones."""
    for switch, placed in job["placement"].items():
        if placed["shared"]:
            yield note(
                f"job {job['name']}",
                f"At {switch} it has slots of the shared pool only: packets that meet another job's are summed by the "
                "server.",
                "Admit it with a quota: lanesum job admit --quota N, without --best-effort.",
            )
        elif placed["slots"] < job["slots"]:
            yield note(
                f"job {job['name']}",
                f"{switch} sums {placed['slots']} of its {job['slots']} slots; the server sums the others.",
                f"Remove other jobs, or: lanesum job resize {job['name']} {placed['slots']}",
            )


def parts(examined: Mapping[str, Any] | None) -> Iterator[Finding]:
    """Report problems of the parts that serve all jobs."""
    if examined is not None:
        for name, server in examined["servers"].items():
            yield from (one for one in site.about_server(name, server) if one.status is not Severity.OK)
