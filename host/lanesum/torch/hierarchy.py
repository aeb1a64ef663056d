# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One worker for each host: the ranks of a host reduce to their leader, which broadcasts the result to them."""

from __future__ import annotations

import contextlib
import datetime
import os
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import torch
import torch.distributed as dist

from lanesum.codecs.base import Codec, Result
from lanesum.codecs.fixed import FixedPoint
from lanesum.codecs.registry import CodecSpec
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.session.all_reduce import SessionPhases
from lanesum.torch import notes
from lanesum.transport import TransportStats
from lanesum.transport.errors import SessionClosedError

_POLL_S = 0.0005
_LOOK = "Read the logs of the ranks of this host."


class HostError(LanesumError):
    """A rank of this host has failed, or did not begin the same all-reduce in time."""


class HostGroup:
    """The ranks of this host. The first one, the leader, is a worker of the job.

    Reduces and broadcasts have a group each, in which all ranks begin them in the order of the tensors. So a rank may
    begin the next reduce while it waits for a result.

    Args:
        group: ranks of this host; None for those that torchrun started here. All ranks make this object together.
        timeout_s: maximum waiting time for the other ranks, until all have made this object, and joined the job.
        busy_s: further waiting time in a reduce or broadcast: that of the leader for the other leaders.

    Attributes:
        leads: this rank is the leader.
        leaders: ranks that lead a host, in the order of their worker numbers.
        num_shared: number of broadcasts begun.
    """

    def __init__(self, group: dist.ProcessGroup | None, timeout_s: float, busy_s: float = 0.0) -> None:
        own = tuple(_ranks_of_torchrun() if group is None else dist.get_process_group_ranks(group))
        gathered = notes.exchange(" ".join(map(str, own)), None, range(dist.get_world_size()), timeout_s)
        hosts = sorted({tuple(map(int, str(ranks).split())) for ranks in gathered})
        if sorted(rank for ranks in hosts for rank in ranks) != list(range(dist.get_world_size())):
            raise ConfigurationError(f"The ranks are not divided among hosts: {hosts}.", "Give each rank its own host.")
        self.leaders = [ranks[0] for ranks in hosts]
        self.leads = dist.get_rank() == own[0]
        self._leader = own[0]
        self._wait, busy = (datetime.timedelta(seconds=one) for one in (timeout_s, timeout_s + busy_s))
        # All ranks make all groups: PyTorch numbers them in the order of these calls.
        self._group_of_leaders = dist.new_group(self.leaders)
        for ranks in hosts:
            reducing, sharing = (dist.new_group(ranks, timeout=busy) for _ in range(2))
            if ranks == own:
                self._reducing, self._sharing = reducing, sharing
        self._notes = self._sharing.get_group_store()
        self.num_shared = 0

    @contextlib.contextmanager
    def leading(self) -> Iterator[dist.ProcessGroup]:
        """Join the job as a leader: yield the group of all leaders, and pass an exception on to the followers."""
        outcome: Exception | None = None
        try:
            yield self._group_of_leaders
        except Exception as error:
            outcome = error
            raise
        finally:
            notes.exchange(_typed(outcome), self._sharing, [], self._wait.total_seconds())

    def wait_for_leader(self) -> None:
        """Wait until the leader has joined the job, or raise its exception; NotReadyError if it does not answer."""
        leader = dist.get_group_rank(self._sharing, self._leader)
        (outcome,) = notes.exchange(None, self._sharing, [leader], 2 * self._wait.total_seconds())
        if isinstance(outcome, Exception):
            raise outcome

    def reduce(self, vector: torch.Tensor, average: bool) -> torch.Tensor:
        """Add the host's vectors up at the leader, and return the leader's contribution to the sum or mean."""
        own = vector.clone()  # the tensor itself must not change where the all-reduce fails
        work = dist.reduce(own, self._leader, group=self._reducing, async_op=True)
        if not self.leads:
            return own
        try:
            work.wait()
        except RuntimeError as error:
            raise HostError(f"The ranks of this host could not reduce a tensor: {error}", _LOOK) from error
        # The mean over the leaders becomes the mean over all ranks, also where hosts have different numbers of ranks.
        return own.mul_(len(self.leaders) / dist.get_world_size()) if average else own

    def share(self, values: torch.Tensor, note: Exception | str | None = None) -> None:
        """Broadcast a result from the leader; ``note``: its error, or the name of a skipped parameter."""
        if note is not None:
            self._notes.set(str(self.num_shared), notes.encode(_typed(note)))
        for work in self.broadcast(torch.tensor([float(note is not None)], device=values.device), values):
            work.wait()

    def broadcast(self, header: torch.Tensor, values: torch.Tensor) -> list[Any]:
        """Begin the broadcasts of a result; ``header`` is 1 if it has a note."""
        self.num_shared += 1
        return [dist.broadcast(one, self._leader, group=self._sharing, async_op=True) for one in (header, values)]

    def note(self, number: int) -> Exception | str | None:
        """Return the note of a result."""
        return notes.decode(self._notes.get(str(number)))


class Follower:
    """The part of ``Session`` that a ``State`` uses, for a rank that does not lead its host."""

    def __init__(self, host: HostGroup) -> None:
        self.host = host
        self.ticket = SimpleNamespace(
            job="of-leader", label="of-leader", worker=dist.get_rank(), workers=dist.get_world_size()
        )
        self.codec: Codec = FixedPoint(workers=1)  # without error feedback, which only the leader has
        self.stats = TransportStats()
        self.phases = SessionPhases()
        self.interrupted, self.closed = threading.Event(), threading.Event()

    def resolve_codec(self, codec: CodecSpec | Codec) -> Codec:
        """Return a codec that the leader's replaces."""
        return self.codec

    def all_reduce_async(self, vector: torch.Tensor, **_: Any) -> SharedResult:
        """Begin to receive the leader's result of a tensor, as long as ``vector``."""
        return SharedResult(self, vector)

    def report_failure(self, error: BaseException) -> None:
        """Do nothing: the leader finds out by the process group of the host."""

    def wake(self) -> None:
        self.interrupted.set()

    def leave(self) -> bool:
        return True

    def close(self) -> None:
        self.closed.set()


class SharedResult:
    """Result that a follower receives from its leader; the part of ``AllReduce`` that a ``State`` uses."""

    def __init__(self, follower: Follower, values: torch.Tensor) -> None:
        self._follower, self._values = follower, values.view(-1)
        self._number = follower.host.num_shared
        self._header = torch.zeros(1, device=values.device)
        self._works = follower.host.broadcast(self._header, self._values)

    def wait(self) -> bool:
        """Wait for the result; return False if ``Follower.wake`` interrupted the wait."""
        follower = self._follower
        while not follower.closed.is_set() and not all(work.is_completed() for work in self._works):
            if follower.interrupted.wait(_POLL_S):
                follower.interrupted.clear()
                return False
        return True

    def codec_result(self) -> Result:
        """Wait for the leader's result and return it, or raise the leader's error."""
        while not self.wait():
            pass
        if self._follower.closed.is_set():
            raise SessionClosedError("This State is closed.")
        try:
            for work in self._works:
                work.wait()
        except RuntimeError as error:
            raise HostError(f"The leader of this host sent no result: {error}", _LOOK) from error
        note = self._follower.host.note(self._number) if self._header.item() else None
        if isinstance(note, Exception):
            raise note
        return Result(cast(Any, self._values), skipped=note)


def _typed(note: Exception | str | None) -> notes.Note:
    if isinstance(note, Exception) and not isinstance(note, LanesumError):
        return HostError(f"The leader failed: {note}", _LOOK)
    return note


def _ranks_of_torchrun() -> list[int]:
    text = [os.environ.get(name, "") for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE")]
    if not all(one.isdecimal() for one in text):
        raise ConfigurationError(
            "LOCAL_RANK and LOCAL_WORLD_SIZE do not say which ranks are on this host.",
            "Start the script under torchrun, or pass local_group.",
        )
    local, size = map(int, text)
    first = dist.get_rank() - local
    if not 0 <= local < size or first < 0 or first + size > dist.get_world_size():
        raise ConfigurationError(
            f"LOCAL_RANK={local} and LOCAL_WORLD_SIZE={size} do not fit rank {dist.get_rank()} of "
            f"{dist.get_world_size()}.",
            "Pass local_group.",
        )
    return list(range(first, first + size))
