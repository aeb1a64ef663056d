# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Rates and shares of jobs, workers and parts between two answers of the controller, for ``lanesum top``."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# A worker is a straggler if the others wait for packets for this share of the time more than it does.
_MIN_WAIT_SHARE = 0.1
_SHARES = ("lost_share", "peer_share", "needless_share", "reordered_share", "server_share")


@dataclass(frozen=True, slots=True)
class Poll:
    """Answer of ``Live``, and the monotonic time of its arrival in seconds."""

    at_s: float
    answer: Mapping[str, Any]

    def reports(self) -> dict[tuple[str, str], Mapping[str, Any]]:
        """Return the last reports by incarnation of the job and host."""
        return {
            (job["incarnation"], one["host"]): one["report"]
            for job in self.answer["jobs"]
            for one in job["figures"]
            if one["report"] is not None
        }

    def has_reports(self, since: Poll | None = None, apart_s: float = 0.0) -> bool:
        """Return True if every live worker has a report, at least ``apart_s`` after that of ``since``."""
        now, before = self.reports(), {} if since is None else since.reports()
        live = [
            (job["incarnation"], one["host"])
            for job in self.answer["jobs"]
            for one in job["figures"]
            if one["state"] == "alive"
        ]
        return all(
            key in now and (key not in before or now[key]["at_s"] >= before[key]["at_s"] + apart_s) for key in live
        )


def view(before: Poll | None, after: Poll) -> dict[str, Any]:
    """Return the figures of all parts as JSON fields. Rates without two different reports are None.

    A job or worker has ``goodput_bytes_per_s`` (accumulator words of results), ``retransmissions_per_s``, and
    ``server_share`` (results that a server completed). Of the packets sent, ``peer_share`` were retransmissions that
    waited for another worker, ``needless_share`` retransmissions that brought a second result, and ``lost_share`` the
    other retransmissions. ``reordered_share`` of the results arrived after that of a later packet. ``latency_s`` is the
    mean from the transmission of a chunk to its result. ``wait_share`` is the share of the time in which the worker
    waited for packets. The others wait for a straggler, which itself waits least.
    """
    known = {} if before is None else before.reports()
    return {
        "jobs": [_job(job, known) for job in after.answer["jobs"]],
        "more": after.answer.get("more", 0),
        **_parts(before, after),
    }


def _job(job: Mapping[str, Any], known: Mapping[tuple[str, str], Mapping[str, Any]]) -> dict[str, Any]:
    workers = [
        _worker(one, known.get((job["incarnation"], one["host"])), job["result_bytes"]) for one in job["figures"]
    ]
    stragglers = set(_stragglers({one["host"]: one["wait_share"] for one in workers if one["wait_share"] is not None}))
    for one in workers:
        one["straggler"] = one["host"] in stragglers
    return {
        "name": job["name"],
        "owner": job["owner"],
        "alive": sum(one["state"] == "alive" for one in workers),
        "slots": {switch: at["slots"] for switch, at in job["placement"].items()},
        "left_out": {switch: one["why"] for switch, one in job["moved"].items()},
        # All workers get the same results, so the slowest report is that of the job.
        "goodput_bytes_per_s": _least(one["goodput_bytes_per_s"] for one in workers),
        "retransmissions_per_s": _sum(one["retransmissions_per_s"] for one in workers),
        **{share: _mean(one[share] for one in workers) for share in _SHARES},
        "stragglers": sorted(stragglers),
        "workers": workers,
    }


def _worker(figures: Mapping[str, Any], known: Mapping[str, Any] | None, result_bytes: int) -> dict[str, Any]:
    found = {"host": figures["host"], "state": figures["state"], "age_s": figures["age_s"]}
    report = figures["report"]
    rates = dict.fromkeys(
        (
            "goodput_bytes_per_s",
            "packets_per_s",
            "retransmissions_per_s",
            *_SHARES,
            "marks_per_s",
            "latency_s",
            "wait_share",
        )
    )
    if report is None or known is None or report["at_s"] <= known["at_s"]:
        return {**found, **rates}
    seconds = report["at_s"] - known["at_s"]
    # A new session counts from 0 again.
    grown = {name: max(0, count - known["counts"][name]) for name, count in report["counts"].items()}
    chunks, peers = grown["chunks"], grown["peer_retransmissions"]
    needless = min(grown["duplicate_results"], max(0, grown["retransmissions"] - peers))
    return {
        **found,
        "goodput_bytes_per_s": chunks * result_bytes / seconds,
        "packets_per_s": grown["packets_sent"] / seconds,
        "retransmissions_per_s": grown["retransmissions"] / seconds,
        "lost_share": _share(grown["retransmissions"] - needless - peers, grown["packets_sent"]),
        "peer_share": _share(peers, grown["packets_sent"]),
        "needless_share": _share(needless, grown["packets_sent"]),
        "reordered_share": _share(grown["reordered_results"], chunks),
        "server_share": _share(grown["server_results"], chunks),
        "marks_per_s": grown["ecn_marks"] / seconds,
        "latency_s": grown["latency_us"] / 1e6 / chunks if chunks else None,
        "wait_share": min(1.0, grown["wait_us"] / 1e6 / seconds),
    }


def _stragglers(shares: Mapping[str, float]) -> Iterable[str]:
    """Return the hosts for whose contributions the others wait, by the shares of their waits."""
    for host, own in shares.items():
        others = [share for other, share in shares.items() if other != host]
        if others and statistics.median(others) - own > _MIN_WAIT_SHARE:
            yield host


def _parts(before: Poll | None, after: Poll) -> dict[str, Any]:
    """Return the figures of switches, links to spines and servers; a tenant gets none."""
    now = after.answer.get("counters")
    if now is None:
        return {}
    then: Mapping[str, Any] = (None if before is None else before.answer.get("counters")) or {}
    seconds = 0.0 if before is None else after.at_s - before.at_s
    switches = []
    for name, slots in now["slots"].items():
        rates = _rates(then.get("switches", {}).get(name), now["switches"].get(name), seconds)
        switches.append(
            {
                "name": name,
                "up": slots["lost"] is None,
                "lost": slots["lost"],
                "drained": slots.get("drained"),
                "slots": slots["all"],
                "used_slots": slots["used"],
                "tables": slots.get("tables", {}),
                "decisions_per_s": rates,
            }
        )
    servers = []
    for name, counts in now["servers"].items():
        old = then.get("servers", {}).get(name) or {}
        new = counts or {}
        servers.append(
            {
                "name": name,
                "up": counts is not None,
                "decisions_per_s": _rates(old.get("decisions"), new.get("decisions"), seconds),
                "refused_per_s": _rates(old.get("refused"), new.get("refused"), seconds),
            }
        )
    links = [{"name": name, "drained": drained} for name, drained in now.get("links", {}).items()]
    return {"switches": switches, "links": links, "servers": servers}


def _rates(then: Mapping[str, int] | None, now: Mapping[str, int] | None, seconds: float) -> dict[str, float] | None:
    if then is None or now is None or seconds <= 0:
        return None
    return {name: max(0, count - then.get(name, 0)) / seconds for name, count in now.items()}


def _share(part: int, whole: int) -> float | None:
    return min(1.0, max(0, part) / whole) if whole else None


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _least(values: Iterable[float | None]) -> float | None:
    return min(_known(values), default=None)


def _sum(values: Iterable[float | None]) -> float | None:
    known = _known(values)
    return sum(known) if known else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = _known(values)
    return statistics.fmean(known) if known else None
