# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The host library's door: ``Session.all_reduce`` sums an array over the workers of a job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from lanesum import codecs
from lanesum._internal import arrays
from lanesum._internal.closing import Closing
from lanesum._internal.offload import Offload
from lanesum.codecs.base import Aggregate, Codec, CodecContext, Members, Part, Result, Round, Steps, is_tensor
from lanesum.codecs.fixed import FixedPoint
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.reductions import Contributors, Reduction, Reductions
from lanesum.transport import JobTicket, TransportStats, UdpTransport
from lanesum.transport.congestion import CongestionControl
from lanesum.transport.errors import MismatchError, RoundSize
from lanesum.transport.udp import DEFAULT_DEADLINE_S, DEFAULT_WINDOW, LEAVE_DEADLINE_S, WrapSocket

if TYPE_CHECKING:
    from lanesum.gpu.staging import Staging


@dataclass(frozen=True, slots=True)
class FinishedRound:
    """One round as an observer sees it: what this worker sent and what came back.

    Attributes:
        codec: the codec that made the round.
        round: what this worker sent.
        aggregate: what the codec gets: accumulator words, and how many contributed to each.
        contributors: uint32 bitmaps of who did, shape ``(packets, racks)``; one column with one level.
    """

    codec: Codec
    round: Round
    aggregate: Aggregate
    contributors: NDArray[np.uint32]

    @property
    def words(self) -> NDArray[np.uint32]:
        """The accumulator words."""
        return self.aggregate.words


RoundObserver = Callable[[FinishedRound], None]


def aggregate_of(ticket: JobTicket, words: NDArray[np.uint32], contributors: NDArray[np.uint32]) -> Aggregate:
    """A round's accumulator words with which workers are in each, how many, and whether this one is.

    ``contributors``: bitmaps as of ``RoundWindow.contributors``. One number where everybody is in everything, as
    always without a quorum; else one per word.
    """
    if not ticket.quorum or (contributors == np.array(ticket.rack_members, np.uint32)).all():
        return Aggregate(words, ticket.workers)
    bitmaps, of_packet = np.unique(contributors, axis=0, return_inverse=True)
    places = np.array(ticket.places or [(0, worker) for worker in range(ticket.workers)], np.uint32)
    sets = (bitmaps[:, places[:, 0]] >> places[:, 1] & np.uint32(1)).astype(np.bool_)
    of_word = np.repeat(of_packet.reshape(-1), ticket.accumulator_words)[: words.size]
    counts = sets.sum(axis=1, dtype=np.int64)[of_word]
    return Aggregate(words, counts, sets[of_word, ticket.worker], Members(sets, of_word))


class Pending:
    """An all-reduce under way; made by ``Session.all_reduce_async``. Not for several threads at once."""

    def __init__(
        self, reductions: Reductions, reduction: Reduction, shape: tuple[int, ...], staging: Staging | None = None
    ) -> None:
        self._reductions = reductions
        self._reduction = reduction
        self._shape = shape
        self._staging = staging

    def done(self) -> bool:
        """It has ended, well or not. Does what can be done for it without waiting."""
        if not self._reduction.ended:
            self._reductions.progress()
        return self._reduction.ended

    def wait(self) -> bool:
        """Work for all that are under way until this one has ended; False when ``Session.wake`` came before."""
        return self._reductions.drive(self._reduction)

    def result(self) -> Any:
        """The sum (or mean) in the shape of the array; waits for it. Raises what ``Session.all_reduce`` does."""
        return self.outcome().values.reshape(self._shape)

    def outcome(self) -> Result:
        """As ``result``, with the codec's whole result: flat values, and the residual when it was asked for."""
        while not self.wait():
            pass
        reduction = self._reduction
        if reduction.error is not None:
            raise reduction.error
        assert reduction.result is not None
        _hand_over(reduction.result, self._staging)
        return reduction.result


def _hand_over(result: Result, staging: Staging | None) -> None:
    """What was made on a device may be used by what the calling thread launches there."""
    if staging is not None:
        tensors: list[Any] = [result.values] if result.residual is None else [result.values, result.residual]
        staging.hand_over(*tensors)


@dataclass(slots=True)
class _Begun:
    """An all-reduce as ``Reductions`` takes it; on a device, the ``staging`` of that."""

    codec: Codec
    steps: Steps
    size: int
    keys: tuple[str, ...]
    arrived: Callable[[], bool] | None = None
    staging: Staging | None = None


class Session(Closing):
    """A worker's membership in an admitted job.

    Args:
        ticket: from the controller (``lanesum.join.join``); good for one session.
        codec: name or codec object used where ``all_reduce`` is given none.
        window: packets under way at most.
        congestion: how the window moves below that: ``"aimd"``, ``"fixed"`` or a ``CongestionControl``.
        pacing: spread over a round trip what the window has room for, instead of sending it at once.
        deadline_s: longest time without progress before AggregationTimeoutError.
        observer: called after every round, in the calling thread.
        offload: ``"auto"``, ``"on"`` or ``"off"``: packets handed to the kernel many at a time, see ``UdpTransport``.
        wrap_socket: for tests, see ``UdpTransport``.

    All workers of a job must call ``all_reduce`` and ``all_reduce_async`` in the same order with arrays of the same
    size. A session is not safe for concurrent calls from several threads.
    """

    def __init__(
        self,
        ticket: JobTicket,
        *,
        codec: str | Codec = "thc",
        window: int = DEFAULT_WINDOW,
        congestion: str | CongestionControl = "aimd",
        pacing: bool = False,
        deadline_s: float = DEFAULT_DEADLINE_S,
        observer: RoundObserver | None = None,
        offload: Offload = "auto",
        wrap_socket: WrapSocket | None = None,
    ) -> None:
        self.ticket = ticket
        self.codec = self.resolve_codec(codec)
        self._observer = observer
        self._all_reduces = 0
        self._transport = UdpTransport(
            ticket,
            window=window,
            congestion=congestion,
            pacing=pacing,
            deadline_s=deadline_s,
            offload=offload,
            wrap_socket=wrap_socket,
        )
        #: Values of an all-reduce that ``_gathers`` at most.
        self._few = 0
        if type(self.codec) is FixedPoint and self.codec.workers == ticket.workers and observer is None:
            self._few = self.codec.gathered // ticket.workers
        self._reductions = Reductions(self._transport, self._aggregated, self._compare)

    def resolve_codec(self, codec: str | Codec) -> Codec:
        """The codec for this job, by name or as given; by name it is one without a code table where the job has none.

        Raises ConfigurationError when it is unknown, has no room for the job's workers, sums by another code table than
        the job was admitted with, or cannot do without a worker in a job that has a quorum.
        """
        if isinstance(codec, str):
            codec = codecs.for_job(codec, workers=self.ticket.workers, lookup=self.ticket.code_table is not None)
        if codec.workers < self.ticket.workers:
            raise ConfigurationError(
                f"Codec {codec.name} was built for {codec.workers} workers; the job has {self.ticket.workers}."
            )
        if getattr(codec, "needs_all_workers", False) and self.ticket.quorum not in (0, self.ticket.workers):
            raise ConfigurationError(
                f"Codec {codec.name} needs every worker in every sum, but {self.ticket.quorum} of "
                f"{self.ticket.workers} make a result of job {self.ticket.job}.",
                "Use fixed or thc in jobs with a quorum.",
            )
        table = None if codec.code_table is None else codec.code_table.tobytes()
        if table is not None and table != self.ticket.code_table:
            # The switch would add other numbers than the codec means, and nobody could tell from the sum.
            held = "no code table" if self.ticket.code_table is None else f"table {list(self.ticket.code_table)}"
            raise ConfigurationError(
                f"Codec {codec.name} sums by table {list(table)}, but job {self.ticket.job} was admitted with {held}.",
                "Admit the job for the codec that its workers use, or name it: by its name, thc does without a table.",
            )
        return codec

    @property
    def stats(self) -> TransportStats:
        """Packets, bytes, retransmissions and the latency of chunks so far; a snapshot."""
        return self._transport.stats

    @overload
    def all_reduce(
        self, array: NDArray[Any], *, codec: str | Codec | None = None, average: bool = False, name: str = ""
    ) -> NDArray[np.float32]: ...

    @overload
    def all_reduce(
        self, array: Any, *, codec: str | Codec | None = None, average: bool = False, name: str = ""
    ) -> Any: ...

    def all_reduce(self, array: Any, *, codec: str | Codec | None = None, average: bool = False, name: str = "") -> Any:
        """Sum (or average) ``array`` over all workers.

        Args:
            array: floating point, any shape; computed in float32. Every worker passes the same shape. A NumPy array or
                a PyTorch tensor, of the host or of a device: see ``docs/gpu.md`` for the latter.
            codec: name or object; the session's codec when None.
            average: divide by the number of contributors.
            name: name of the tensor, for error messages and for the error-feedback memory.

        Returns:
            float32 array of the same shape, bit-identical on all workers; or such a tensor on the same device, ready
            for what the calling thread launches there.

        Raises:
            ConfigurationError: what is no dense array of floating-point numbers.
            CodecError: NaN or infinity, or too many workers for the codec's lanes; nothing was sent. The session ends
                with it, because the other workers are left waiting for this all-reduce.
            AggregationTimeoutError: no progress until the deadline; names the missing workers where known.
            MismatchError: another worker reduces an array of another size, or with another codec.
            ResultGoneError: with a quorum, when this worker is so late that nobody keeps the result any more.
            SessionClosedError: the session is closed or failed earlier.
        """
        if type(array) is not np.ndarray:
            if is_tensor(array):
                return self.reduce(array, codec=codec, average=average, name=name).values.reshape(array.shape)
            array = np.asarray(array)
        if codec is None and self._gathers(array):
            values = self._reductions.gather(array.reshape(-1), self.ticket.workers if average else 1)
            if values is not None:
                self._all_reduces += 1
                return values.reshape(array.shape)
        return self.reduce(array, codec=codec, average=average, name=name).values.reshape(array.shape)

    def _gathers(self, array: NDArray[Any]) -> bool:
        """What the session's codec would do with it is one round of all workers' vectors side by side, and their sum:
        ``UdpTransport.gather`` takes less time for that than a codec's steps."""
        return (
            array.size <= self._few
            and array.size > 0
            and array.dtype == np.float32
            and array.flags.c_contiguous
            and array.flags.aligned
        )

    def all_reduce_async(
        self,
        array: Any,
        *,
        codec: str | Codec | None = None,
        average: bool = False,
        name: str = "",
        keep_residual: bool = False,
        parts: Sequence[Part] = (),
        memory: Any = None,
    ) -> Pending:
        """Begin an ``all_reduce``, and return before it has ended.

        Several may be under way: the next one is encoded and sent while the sums of the one before come back. All
        workers submit the same ones in the same order; they need not wait for them in that order, or at the same points
        of their programs. ``array`` must not change until its all-reduce is ``done``, or, on a device, until its
        ``result`` was asked for. What can go wrong is raised by ``Pending.result``, and is the same for all that are
        under way, because the session ends with it; only ConfigurationError, for what cannot be reduced at all, is
        raised here.

        Of a device's tensor nothing is waited for here: it is begun once what makes it has happened there.

        ``codec``, ``average`` and ``name``: as of ``all_reduce``; ``keep_residual``: see ``Pending.outcome``;
        ``parts`` and ``memory``: see ``reduce``.
        """
        begun = self._begin(array, codec, average, name, keep_residual, parts, memory)
        reduction = self._reductions.submit(begun.codec, begun.steps, begun.size, begun.keys, begun.arrived)
        return Pending(self._reductions, reduction, tuple(np.shape(array)), begun.staging)

    def reduce(
        self,
        array: Any,
        *,
        codec: str | Codec | None = None,
        average: bool = False,
        name: str = "",
        keep_residual: bool = False,
        parts: Sequence[Part] = (),
        memory: Any = None,
    ) -> Result:
        """As ``all_reduce``, with the codec's whole result: flat values, and the residual when asked for.

        ``parts``: the parameters that the array is made of, in order; errors name them, and a policy needs them.
        ``memory``: see ``CodecContext``; only for codecs with ``adds_memory``.
        """
        begun = self._begin(array, codec, average, name, keep_residual, parts, memory)
        result = self._reductions.reduce(begun.codec, begun.steps, begun.size, begun.keys)
        _hand_over(result, begun.staging)
        return result

    def _begin(
        self,
        array: Any,
        codec: str | Codec | None,
        average: bool,
        name: str,
        keep_residual: bool,
        parts: Sequence[Part],
        memory: Any,
    ) -> _Begun:
        """The next all-reduce."""
        chosen = self.codec if codec is None else self.resolve_codec(codec)
        vector: Any
        of_torch = type(array) is not np.ndarray and is_tensor(array)
        if of_torch:
            from lanesum.gpu import tensors  # PyTorch is there, as its tensor is

            vector = tensors.flat(array)
            size = vector.numel()
        else:
            array = np.asarray(array)
            if array.dtype.kind != "f":
                raise ConfigurationError(
                    f"all_reduce takes floating-point arrays, not {array.dtype}.", "Convert the array to float32 first."
                )
            vector = np.ascontiguousarray(array, np.float32).reshape(-1)
            size = vector.size
        context = CodecContext(
            workers=self.ticket.workers,
            worker=self.ticket.worker,
            seed=self.ticket.seed,
            round=self._all_reduces,
            tensor=name,
            average=average,
            keep_residual=keep_residual,
            parts=tuple(parts),
            complete=not self.ticket.quorum,
            in_pieces=self._transport.takes_pieces,
            memory=memory,
        )
        self._all_reduces += 1
        keys = (name, *[part.key for part in parts])
        if memory is not None and not (of_torch and tensors.adds_memory(chosen, vector)):
            raise ConfigurationError(f"Codec {chosen.name} adds no memory to this vector.", "Add it before.")
        if not of_torch:
            return _Begun(chosen, chosen.all_reduce(vector, context), size, keys)
        begun = tensors.begin(chosen, vector, context)
        return _Begun(chosen, begun.steps, size, keys, begun.arrived, begun.own)

    def wake(self) -> None:
        """Have ``Pending.wait`` come back, or the next one not wait; the one call for any thread."""
        self._transport.wake()

    def _aggregated(
        self, codec: Codec, round_: Round, words: NDArray[np.uint32], contributors: Contributors
    ) -> Aggregate:
        if not self.ticket.quorum and self._observer is None:
            return Aggregate(words, self.ticket.workers)
        bitmaps = contributors()
        aggregate = aggregate_of(self.ticket, words, bitmaps)
        if self._observer is not None:
            self._observer(FinishedRound(codec, round_, aggregate, bitmaps))
        return aggregate

    def _compare(self, size: int, largest: int, inverse_of_smallest: int) -> None:
        """Codecs pad: vectors of different lengths may become as many words, which nobody else can tell apart."""
        smallest = ~inverse_of_smallest % (1 << 32)
        sizes = {size % (1 << 32), smallest, largest}
        if len(sizes) == 1:
            return
        ticket = self.ticket
        raise MismatchError(
            f"Job {ticket.job}: the workers reduce vectors of {min(sizes):,} to {max(sizes):,} values; worker "
            f"{ticket.worker} itself has {size:,}.",
            "All workers must reduce tensors of the same sizes in the same order.",
            None,
            RoundSize(LaneOp.MAX, max(sizes)),
            RoundSize(LaneOp.MAX, min(sizes)),
        )

    def describe(self) -> str:
        """The session's codec in one line (``lanesum.codecs.description``); must be equal on all workers."""
        return codecs.description(self.codec)

    def leave(self, deadline_s: float = LEAVE_DEADLINE_S) -> bool:
        """End the session together with all other workers; True when everybody has.

        Where all workers end after the same all-reduce, this is better than ``close``: a worker that closes at once
        can no longer help one that still lacks the last result after the aggregation point has started anew. It takes
        one round trip when the others leave too, else ``deadline_s``. Never raises for others that are gone; raises
        MismatchError when one of them goes on. All-reduces under way are finished before. The session is closed in any
        case.
        """
        self._reductions.finish_all()
        return self._transport.leave(deadline_s)

    def close(self) -> None:
        """Give the socket and kept memory back; idempotent. All-reduces under way end with SessionClosedError."""
        self._transport.close()
        arrays.release_pooled()
