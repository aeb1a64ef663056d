# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Admission of a job for the ranks of a process group."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from pathlib import Path

import torch.distributed as dist

from lanesum import codecs, environment
from lanesum.codecs.base import Codec
from lanesum.codecs.registry import CodecSpec, default_codec
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.joining import DEFAULT_WAIT_S, controller_address
from lanesum.rpc import controller as rpc
from lanesum.torch import notes
from lanesum.transport.path_check import measured_mtu

# Jobs that this process has admitted.
_admitted: list[str] = []


def admitted_job(
    controller: str | None,
    job: str | None,
    codec: CodecSpec | Codec | None,
    *,
    admit: bool | None = None,
    group: dist.ProcessGroup | None = None,
    wait_s: float = DEFAULT_WAIT_S,
) -> str | None:
    """Return the name of a job for the ranks of ``group``; admit it if necessary. All of them must call it.

    Rank 0 asks the controller, and broadcasts the result.

    Args:
        controller: ``host:port`` of the controller; the default is LANESUM_CONTROLLER.
        job: name of the job; the default is LANESUM_JOB. If neither is set, a name is derived from the run of torchrun.
            A job that an earlier process admitted for the same run is removed. So workers that were restarted get a
            new incarnation. The same holds for a run of Ray Train.
        codec: codec of the job, if it is admitted here; the default is LANESUM_CODEC.
        admit: with None, a job is admitted if neither ``job`` nor LANESUM_JOB names one, or if LANESUM_ADMIT is ``1``.
            With True, also a named one that the controller does not have. With False, no job is admitted.
        group: ranks of the job; the default is all ranks.
        wait_s: maximum waiting time of rank 0 for the other ranks, in seconds.

    Raises:
        ConfigurationError: there is no process group, or the job has another number of workers.
        ControllerError: the controller refuses or does not answer, on all ranks.
        NotReadyError: a rank has not called it in time.
    """
    named = job or os.environ.get(environment.JOB) or None
    address = controller_address(controller)
    if admit is None:
        admit = named is None or os.environ.get(environment.ADMIT) == "1"
    if not admit or address is None:
        return named
    if not dist.is_initialized():
        raise ConfigurationError(
            "No job is named, and without a process group lanesum cannot admit one.",
            'Call torch.distributed.init_process_group("gloo") first, or admit a job and set LANESUM_JOB.',
        )
    outcome: notes.Note = None
    leads = dist.get_rank(group) == 0
    awaited = range(dist.get_world_size(group) if leads else 0)
    try:
        listed = rpc.call(address, rpc.JOBS, {}, connect_s=rpc.CONNECT_S) if leads else {}
        servers: notes.Note = json.dumps(listed.get("servers", [])) if leads else None
    except LanesumError as error:
        servers = error
    try:
        (servers,) = notes.exchange(servers, group, [0], 2 * wait_s)
        if isinstance(servers, LanesumError):
            raise servers
        place = _place(rpc.address_towards(address), str(servers))
        places = [json.loads(str(one)) for one in notes.exchange(place, group, awaited, wait_s)]
        if leads:
            measured = [mtu for _, mtu in places if mtu is not None]
            outcome = _admit(address, named, codec, [own for own, _ in places], min(measured, default=None))
    except LanesumError as error:
        outcome = error
    (outcome,) = notes.exchange(outcome, group, [0], 2 * wait_s)  # rank 0 itself waits for the others
    if isinstance(outcome, LanesumError):
        raise outcome
    return str(outcome)


def release(controller: str, job: str) -> None:
    """Remove a job that this process has admitted and all workers have left; its lease would end it later."""
    if job in _admitted:
        with contextlib.suppress(rpc.ControllerError):
            rpc.call(controller, rpc.REMOVE, {"job": job}, connect_s=rpc.CONNECT_S)


def _place(own: str, servers: str) -> str:
    """Return the address of this rank, and the smallest path MTU from it to ``servers``, as JSON; null for unknown."""
    measured = []
    for ip, port in json.loads(servers) if own else ():
        with contextlib.suppress(OSError):  # no route, which the session reports
            measured.append(measured_mtu(own, (ip, port)))
    return json.dumps([own, min((mtu for mtu in measured if mtu is not None), default=None)])


def _admit(
    controller: str, named: str | None, codec: CodecSpec | Codec | None, addresses: list[str], path_mtu: int | None
) -> str:
    jobs = rpc.jobs_by_name(controller)
    if named is not None and named in jobs:
        workers = len(jobs[named]["workers"])
        if workers != len(addresses):
            raise ConfigurationError(
                f"Job {named!r} has {workers} workers, the process group {len(addresses)} ranks.",
                "Remove the job (lanesum job remove), or start as many ranks as it has workers.",
            )
        return named
    run = _run()
    for name in jobs if named is None else ():
        if name.startswith(f"{run}.") and name not in _admitted:
            rpc.call(controller, rpc.REMOVE, {"job": name})
    name = named or f"{run}.{len(_admitted)}"
    codec = codec or default_codec()
    if not isinstance(codec, Codec):
        codecs.get(codec, workers=len(addresses))  # a mistake shows here, with its type
        known: str | None = codecs.spelled(codec)
    else:
        known = codec.name if codec.name in codecs.names() else None
    message: dict[str, object] = {"name": name, "addresses": addresses, "codec": known, **rpc.lease()}
    if path_mtu is not None:  # controllers of earlier versions refuse it
        message["path_mtu"] = path_mtu
    rpc.call(controller, rpc.ADMIT, message)
    _admitted.append(name)
    return name


def _run() -> str:
    """Return a name of this process and its restarts: of the run of torchrun or Ray Train, and of the rank."""
    run, name = os.environ.get(environment.RUN_ID) or _ray_run(), os.environ.get(environment.MASTER_PORT, "")
    if run == "none":  # torchrun's process outlives restarts, its port may not
        with contextlib.suppress(OSError):
            started = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[19]  # proc_pid_stat(5)
            name = f"{os.getppid()}-{started}"
    if run in (None, "none"):  # no other run has this port of the host, or this process
        run = f"{socket.gethostname()}:{name}"
    return f"{run}.{dist.get_rank()}"


def _ray_run() -> str | None:
    """Return the names of the run and the cluster of Ray Train; None unless this process is one of its workers."""
    ray = sys.modules.get("ray")
    if ray is not None and "ray.train" in sys.modules:
        with contextlib.suppress(RuntimeError):  # no worker
            name = ray.train.get_context().get_experiment_name()
            return f"{name}:{ray.get_runtime_context().gcs_address}" if name else None
    return None
