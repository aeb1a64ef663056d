# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Samples and endpoints of aggregation servers and workers, which the host library starts."""

from __future__ import annotations

import os
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from lanesum import environment
from lanesum.errors import ConfigurationError
from lanesum.rpc.tls import is_local
from lanesum_fabric.metrics.endpoint import MetricsEndpoint, address_of
from lanesum_fabric.metrics.families import SERVER, WORKER, Samples

if TYPE_CHECKING:  # neither process needs the classes of the other
    from lanesum.server.udp import AggregationServer
    from lanesum.session import Session


def server_samples(server: AggregationServer) -> Samples:
    """Return the samples of an aggregation server."""
    samples, status = Samples(SERVER), server.status()
    samples.add("lanesum_server_jobs", len(status.jobs))
    samples.add("lanesum_server_failed_packets_total", status.broken)
    for thread, count in enumerate(status.received):
        samples.add("lanesum_server_received_packets_total", count, thread)
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
