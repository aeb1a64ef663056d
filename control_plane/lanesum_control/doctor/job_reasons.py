# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Reasons why a job is slow, or summed by the server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lanesum.doctor.finding import Finding, note, ok, problem
from lanesum_control.doctor import site

_MAX_EVENTS = 5
# Next steps for a reason of ``left_out``, by a part of its text.
_STEPS = (
    ("it is lost", "Start the switch, or look at its log; the controller connects it again by itself."),
    ("cannot be reached", "Start the switch, or look at its log; the controller connects it again by itself."),
    ("slots", "Give the job fewer slots (lanesum job resize), or remove other jobs."),
    ("refused", "Remove other jobs: the switch has no room for this one."),
    ("sums none of", "Admit the job with a codec whose operations the switch's program has."),
    ("of the chip", "Attach all workers of the job to ports of one pipe, or give it a recirculation port."),
    ("bitmap", "Use fewer workers, or spread them over fewer switches."),
)
_STEP = "docs/jobs.md explains the placement of jobs."


def checks(
    job: Mapping[str, Any], examined: Mapping[str, Any] | None, events: Sequence[Mapping[str, Any]]
) -> Iterator[Finding]:
    """Report what slows a job down: a job of ``rpc.JOBS``, the answer to ``rpc.EXAMINE``, and the last events.

    ``examined`` is None for callers who may not examine the controller.
    """
    found = [*missing_workers(job), *moved_sums(job), *small_windows(job), *parts(examined)]
    yield from found
    switches = ", ".join(job["placement"]) or "no switch"
    if not found:
        yield ok(
            f"job {job['name']}",
            f"All {len(job['workers'])} workers have joined, and {switches} sums for it. The time is spent in the "
            "workers or in the network: look at state.stats.as_dict() there, and run lanesum doctor --controller at "
            "each worker.",
        )
    for event in [one for one in events if one["whom"] == job["name"]][-_MAX_EVENTS:]:
        yield ok("event", f"{event['date']}: {event['what']}")


def missing_workers(job: Mapping[str, Any]) -> Iterator[Finding]:
    """Report workers that the others wait for."""
    missing = [worker for worker in job["workers"] if worker not in job["joined"]]
    if missing:
        yield problem(
            f"job {job['name']}",
            f"{', '.join(missing)} of {len(job['workers'])} workers have not joined: the others wait for them.",
            "Start them, or remove them from the job: lanesum job leave NAME HOST.",
        )


def moved_sums(job: Mapping[str, Any]) -> Iterator[Finding]:
    """Report switches that do not sum for the job, since when, and why."""
    for switch, moved in job["moved"].items():
        step = next((step for part, step in _STEPS if part in moved["why"]), _STEP)
        yield note(
            f"job {job['name']}",
            f"The server sums in place of {switch} since {moved['since']}: {moved['why']}. It receives the packets of "
            "all workers there.",
            step,
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
            yield from (one for one in site.about_server(name, server) if one.status != "ok")
