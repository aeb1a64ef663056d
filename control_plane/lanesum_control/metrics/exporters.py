# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Samples of controller, aggregation server and worker, and the endpoints of those that the host library starts."""

from __future__ import annotations

import os
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from lanesum import environment
from lanesum.errors import ConfigurationError
from lanesum.rpc.tls import is_local
from lanesum_control.metrics.endpoint import MetricsEndpoint, address_of
from lanesum_control.metrics.families import CONTROLLER, SERVER, WORKER, Samples

if TYPE_CHECKING:  # none of the three processes needs the classes of the others
    from lanesum.server.udp import AggregationServer
    from lanesum.session import Session
    from lanesum_control.controller import Controller


def controller_samples(controller: Controller | None) -> Samples:
    """Return the samples of a controller; its workers are asked for new counts, which the next samples have.

    None is a controller that does not lead: a standby, or one that starts.
    """
    samples = Samples(CONTROLLER)
    samples.add("lanesum_controller_leader", controller is not None)
    if controller is None:
        return samples
    jobs = controller.jobs()
    samples.add("lanesum_jobs", len(jobs))
    for job, figures in zip(jobs, controller.ask(jobs).values(), strict=True):
        name = job.request.name
        samples.add("lanesum_job_workers", len(figures), name)
        samples.add("lanesum_job_alive_workers", sum(one.state == "alive" for one in figures), name)
        samples.add("lanesum_job_left_out_switches", len(job.moved), name)
        for switch, held in job.switch_jobs.items():
            samples.add("lanesum_job_slots", held.slot_count, name, switch)
        for one in figures:
            if one.report is not None and one.age_s is not None:
                samples.add("lanesum_job_worker_report_age_seconds", one.age_s, name, one.host)
                samples.add_worker("lanesum_job_worker_", one.report.counts, name, one.host)
    counters = controller.counters()
    for switch, slots in counters["slots"].items():
        samples.add("lanesum_switch_up", slots["lost"] is None, switch)
        samples.add("lanesum_switch_slots", slots["all"], switch)
        samples.add("lanesum_switch_used_slots", slots["used"], switch)
    for switch, decisions in counters["switches"].items():
        for decision, count in decisions.items():
            samples.add("lanesum_switch_decisions_total", count, switch, decision)
    for server, found in counters["servers"].items():
        samples.add("lanesum_server_up", found is not None, server)
    return samples


def server_samples(server: AggregationServer) -> Samples:
    """Return the samples of an aggregation server."""
    samples, status = Samples(SERVER), server.status()
    samples.add("lanesum_server_jobs", len(status.jobs))
    samples.add("lanesum_server_failed_packets_total", status.broken)
    for decision, count in status.decisions.items():
        samples.add("lanesum_server_decisions_total", count, decision)
    for reason, count in status.refused.items():
        samples.add("lanesum_server_refused_packets_total", count, reason)
    return samples


def serve_server(server: AggregationServer, address: str, folder: Path | None, insecure: bool) -> MetricsEndpoint:
    """Return the endpoint of an aggregation server, for ``lanesum server --metrics``. Raises ConfigurationError."""
    return MetricsEndpoint(lambda: server_samples(server), address, folder, insecure=insecure)


# Last session of each job and worker in this process; they share one endpoint.
_sessions: weakref.WeakValueDictionary[tuple[str, str], Session] = weakref.WeakValueDictionary()
_endpoint: list[MetricsEndpoint] = []
_opening = threading.Lock()


def worker_samples() -> Samples:
    """Return the samples of the sessions of this process. A job has the name of LANESUM_JOB, else its number."""
    samples = Samples(WORKER)
    with _opening:
        sessions = list(_sessions.items())
    for (job, worker), session in sessions:
        samples.add_worker("lanesum_worker_", session.stats.report(), job, worker)
    return samples


def serve_worker(session: Session, address: str) -> None:
    """Serve the metrics of a session at ``address`` until this process ends; its port is increased by LOCAL_RANK.

    An address that others reach needs the certificates of LANESUM_TLS. Raises ConfigurationError.
    """
    job = os.environ.get(environment.JOB) or str(session.ticket.job)
    with _opening:
        if not _endpoint:
            _endpoint.append(_worker_endpoint(address))
            _endpoint[0].start()
        _sessions[job, str(session.ticket.worker)] = session


def _worker_endpoint(address: str) -> MetricsEndpoint:
    host, port = address_of(address)
    rank = os.environ.get("LOCAL_RANK", "0")
    if not rank.isdecimal():
        raise ConfigurationError(f"Invalid LOCAL_RANK={rank!r}: expected a number.", "torchrun sets it.")
    folder = os.environ.get(environment.TLS)
    secured = Path(folder) if folder and not is_local(address) else None
    return MetricsEndpoint(worker_samples, f"{host}:{port + int(rank)}", secured)
