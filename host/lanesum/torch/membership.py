# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Membership of a rank in a job: joins the job for the hook, and opens its session."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
import torch.distributed as dist

from lanesum.codecs.base import Codec
from lanesum.codecs.registry import CodecSpec, default_codec
from lanesum.errors import ConfigurationError
from lanesum.joining import DEFAULT_WAIT_S, join, wait_for_others
from lanesum.keep_alive import KeepAlive
from lanesum.session import Session, SessionOptions
from lanesum.torch.admission import admitted_job, release
from lanesum.torch.hierarchy import Follower, HostGroup
from lanesum.torch.path_choice import may_step_aside
from lanesum.transport import JobTicket


@dataclass(frozen=True, slots=True)
class JobMembership:
    """Membership of a rank in a job.

    Attributes:
        session: opened; of a rank that does not lead its host, the ``Follower`` in its place.
        group: process group of the ranks; None for the default one.
        host: ranks of this host that share the session of their leader.
        alternative: process group that may average steps instead of lanesum.
        after_leave: to be called once all workers have left.
    """

    session: Session
    group: dist.ProcessGroup | None = None
    host: HostGroup | None = None
    alternative: dist.ProcessGroup | None = None
    after_leave: Callable[[], None] | None = None


@contextlib.contextmanager
def join_job(
    *,
    controller: str | None = None,
    job: str | None = None,
    worker: int | None = None,
    admit: bool | None = None,
    codec: CodecSpec | Codec | None = None,
    model: torch.nn.Module | None = None,
    wait_s: float = DEFAULT_WAIT_S,
    take_over: bool = False,
    group: dist.ProcessGroup | None = None,
    hierarchical: bool = False,
    local_group: dist.ProcessGroup | None = None,
    step_aside: bool | None = None,
    **options: Any,
) -> Iterator[JobMembership]:
    """Join a job, wait for its other workers, and yield the membership.

    An exception in the context is reported to the other workers, and ends the membership. Arguments and exceptions:
    see :meth:`lanesum.torch.State.join`.
    """
    flags = {"admit": admit, "take_over": take_over, "hierarchical": hierarchical, "step_aside": step_aside}
    _check_arguments(options, flags, group, local_group)
    settings = SessionOptions(**options)
    by_host = hierarchical or local_group is not None
    host = HostGroup(local_group, wait_s, max(settings.busy_s, settings.deadline_s)) if by_host else None
    if host is not None and not host.leads:
        host.wait_for_leader()
        yield JobMembership(cast(Session, Follower(host)), host=host)
        return
    with contextlib.nullcontext() if host is None else host.leading() as leaders:
        group = group if host is None else leaders
        job = admitted_job(controller, job, codec, admit=admit, group=group, wait_s=wait_s)
        ranked = worker is None
        worker = dist.get_rank(group) if ranked and dist.is_initialized() else worker
        ticket = join(controller=controller, job=job, worker=worker, take_over=take_over)
        opened: KeepAlive | Session | None = KeepAlive.of(ticket)
        try:
            of_ranks = getattr(model, "process_group", None) if group is None else group
            if ranked:
                _check_group(ticket, of_ranks)
            name = codec or ticket.codec or default_codec()
            opened = session = Session(ticket, codec=name, options=settings)
            watched = settings.observer is not None or settings.non_finite != "mean"
            other = None
            if ranked and host is None and not watched and dist.is_initialized():
                ranks = of_ranks or cast(dist.ProcessGroup, dist.group.WORLD)
                other = ranks if may_step_aside(ticket, session.codec, ranks, step_aside) else None
            if ticket.controller:
                described, facts = session.describe(), {"torch": str(torch.__version__)}
                facts["step_aside"] = str(other is not None)
                wait_for_others(ticket, ticket.controller, description=described, facts=facts, timeout_s=wait_s)
            after_leave = functools.partial(release, ticket.controller, job) if ticket.controller and job else None
            yield JobMembership(session, None if host is not None else group, host, other, after_leave)
        except BaseException as error:
            if opened is not None:
                opened.report_failure(error)
                opened.close()
            raise


def _check_arguments(options: Mapping[str, Any], flags: Mapping[str, Any], *groups: Any) -> None:
    """Raise ConfigurationError for an option that does not exist, and for flags and groups of another type."""
    known = {*SessionOptions.__dataclass_fields__}
    if unknown := options.keys() - known:
        known |= {"error_feedback", "scaler", *inspect.signature(join_job).parameters} - {"options"}
        raise ConfigurationError(f"No argument is {min(unknown)!r}.", f"Known arguments: {', '.join(sorted(known))}.")
    for name, value in flags.items():
        if value not in (None, True, False):
            raise ConfigurationError(f"Invalid {name}={value!r}: expected True or False.")
    if wrong := [one for one in groups if not isinstance(one, dist.ProcessGroup | None)]:
        raise ConfigurationError(f"Invalid group {wrong[0]!r}: expected a process group with this rank.")


def _check_group(ticket: JobTicket, group: dist.ProcessGroup | None) -> None:
    """Raise ConfigurationError if ``group``, or the default process group, is not that of the job."""
    if not dist.is_initialized():
        return
    size, rank = dist.get_world_size(group), dist.get_rank(group)
    if (size, rank) != (ticket.workers, ticket.worker):
        raise ConfigurationError(
            f"Rank {rank} of a process group of {size} has joined job {ticket.label} as worker {ticket.worker} of "
            f"{ticket.workers}.",
            "Start as many ranks as the job has workers, or admit the job for as many workers as there are ranks; rank "
            "n is worker n unless worker is given.",
        )
