# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Entry point of the host library: ``Session.all_reduce`` sums an array over the workers of a job."""

from __future__ import annotations

import dataclasses
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from lanesum import codecs, environment
from lanesum._internal import arrays
from lanesum._internal.closing import Closing
from lanesum._internal.exporters import exporter
from lanesum.codecs.base import Codec, CodecContext, Part, is_tensor
from lanesum.codecs.fixed import ElementwiseFixed, FixedPoint
from lanesum.codecs.registry import CodecSpec
from lanesum.codecs.shards import steps_of
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.keep_alive import KeepAlive
from lanesum.session.all_gather import AllGather
from lanesum.session.all_reduce import AllReduce, SessionPhases, V
from lanesum.session.scheduler import AllReduceScheduler
from lanesum.transport import JobTicket, TransportStats, UdpTransport
from lanesum.transport.constants import LEAVE_DEADLINE_S
from lanesum.transport.options import NonFinite, SessionOptions

if TYPE_CHECKING:
    import torch


class Session(Closing):
    """A worker's membership in an admitted job.

    Args:
        ticket: from the controller (``lanesum.join``); valid for one session.
        codec: name or codec object, for calls of ``all_reduce`` that name none. The default sums exactly up to float32.
        options: see :class:`lanesum.transport.options.SessionOptions`; None for the defaults.
        changes: fields of ``options`` with other values.

    A session opens in the background, and its first all-reduce waits until all workers have opened theirs, also in a
    job with a quorum.

    All workers of a job must call ``all_reduce`` and ``all_reduce_async`` in the same order with arrays of the same
    size. A session is not safe for concurrent calls from several threads.

    A session with a ticket from a controller keeps the job alive, and raises WorkerGoneError or SupersededError soon
    after another worker has failed, or the job has begun anew.
    """

    def __init__(
        self,
        ticket: JobTicket,
        *,
        codec: CodecSpec | Codec = "fixed",
        options: SessionOptions | None = None,
        **changes: Any,
    ) -> None:
        options = dataclasses.replace(options or SessionOptions(), **changes)
        if options.non_finite not in get_args(NonFinite):
            raise ConfigurationError(
                f"Invalid non_finite={options.non_finite!r}: expected one of {', '.join(get_args(NonFinite))}."
            )
        self.ticket = ticket
        self.codec = self.resolve_codec(codec)
        self._num_all_reduces = 0
        self._transport = UdpTransport(ticket, options)
        observer, self._raises_not_finite = options.observer, options.non_finite == "raise"
        self._scheduler = AllReduceScheduler(self._transport, observer, raise_not_finite=self._raises_not_finite)
        self._keep_alive = KeepAlive.of(ticket)
        if self._keep_alive is not None:
            self._transport.ask(self._keep_alive, options.busy_s)
            self._keep_alive.listen(self._transport, self.phases)
            weakref.finalize(self, self._keep_alive.abandon).atexit = False
        if address := os.environ.get(environment.METRICS):
            exporter("worker")(self, address)
        #: Maximum number of values for which ``all_reduce`` uses ``UdpTransport.gather``.
        self._max_gathered = 0
        plain = observer is None and not self._raises_not_finite
        if type(self.codec) is FixedPoint and self.codec.workers == ticket.workers and plain:
            self._max_gathered = self.codec.gathered // ticket.workers

    def resolve_codec(self, codec: CodecSpec | Codec) -> Codec:
        """Return a codec object for this job: ``codec`` itself, or the one of that name and parameters.

        By name, a codec with an optional code table is built without one where the job has none.

        Raises ConfigurationError: the codec is unknown, is built for fewer workers than the job has, sums by another
        code table than that of the job, or needs all workers in a job with a quorum.
        """
        ticket = self.ticket
        if isinstance(codec, str | Mapping):
            codec = codecs.for_job(codec, workers=ticket.workers, lookup=ticket.code_table is not None)
        elif not hasattr(codec, "workers"):
            raise codecs.not_a_spec(codec)
        if codec.workers < ticket.workers:
            raise ConfigurationError(
                f"Codec {codec.name} was built for {codec.workers} workers; the job has {ticket.workers}.",
                "Build the codec with the job's number of workers.",
            )
        if codec.traits.needs_all_workers and ticket.quorum not in (0, ticket.workers):
            raise ConfigurationError(
                f"Codec {codec.name} needs every worker in every sum, but a result of job {ticket.label} needs only "
                f"{ticket.quorum} of {ticket.workers}.",
                "Use fixed or thc in jobs with a quorum.",
            )
        table = None if codec.code_table is None else codec.code_table.tobytes()
        if table is not None and table != ticket.code_table:
            # The switch would add other numbers than the codec sent, and the sum would not show it.
            held = "no code table" if ticket.code_table is None else f"table {list(ticket.code_table)}"
            raise ConfigurationError(
                f"Codec {codec.name} sums by table {list(table)}, but job {ticket.label} was admitted with {held}.",
                "Admit the job for the codec that its workers use. Or pass the codec's name instead of an object: "
                "thc then works without a table.",
            )
        return codec

    @property
    def phases(self) -> SessionPhases:
        """Times of the phases of all-reduces that were not completed in one call, such as all asynchronous ones."""
        return self._scheduler.phases

    @property
    def stats(self) -> TransportStats:
        """Packets, bytes, retransmissions and chunk latencies so far; a snapshot."""
        return self._transport.stats

    def all_reduce(
        self, array: V, *, codec: CodecSpec | Codec | None = None, average: bool = False, name: str = ""
    ) -> V:
        """Sum (or average) ``array`` over all workers.

        Args:
            array: dense floating-point array, any shape; computed in float32. Every worker passes the same shape. A
                NumPy array, or a PyTorch tensor of the host or of a device: ``docs/gpu.md`` describes the latter.
            codec: name, also with parameters such as ``thc error=0.01``, or object; the session's codec when None.
            average: divide by the number of contributors.
            name: name of the tensor, for error messages and for error feedback.

        Returns:
            A float32 array of the same shape, bit-identical on all workers; NaN if the array of a worker has a NaN or
            an infinity. For a tensor, a tensor on its device, ready for work that the calling thread launches there.

        Raises:
            ConfigurationError: ``array`` is not dense or not floating-point.
            NotFiniteError: with ``non_finite="raise"``; the session ends with it.
            CodecError: too many workers for the codec's lanes. The session ends with it, because the other workers wait
                for this all-reduce.
            AggregationTimeoutError: no progress until the deadline; names the missing workers where known.
            MismatchError: another worker reduces an array of another size, or with another codec.
            ResultGoneError: with a quorum, this worker is late and the result was evicted.
            UsedTicketError: an earlier process has used the ticket; in the first all-reduce.
            SessionClosedError: the session is closed or failed earlier.
        """
        self.phases.step = self._num_all_reduces
        given: Any = array
        if type(array) is np.ndarray or not is_tensor(array):
            given = np.asarray(array)
            if codec is None and self._can_gather(given):
                values = self._scheduler.gather(given.reshape(-1), self.ticket.workers if average else 1)
                if values is not None:
                    self._num_all_reduces += 1
                    return cast("V", values.reshape(given.shape))
        result = self._scheduler.run(self._make_all_reduce(given, codec, average, name))
        return cast("V", result.values.reshape(given.shape))

    def reduce_scatter(
        self, array: V, *, codec: CodecSpec | Codec | None = None, average: bool = False, name: str = ""
    ) -> V:
        """Sum (or average) ``array`` over all workers, and return the shard of this worker.

        The first dimension is split into equal shards, one for each worker in the order of their numbers. With codecs
        ``fixed`` and ``thc`` on the host, in jobs without a quorum, each sum is sent to the worker of its shard alone.
        Otherwise, and for short shards, all workers get the whole sum, and the result is the same.

        Args:
            array, codec, average, name: as for ``all_reduce``.

        Returns:
            The shard, float32, with the bits that ``all_reduce`` of a vector with the same blocks has.

        Raises:
            ConfigurationError: the first dimension is not a multiple of the number of workers, or see ``all_reduce``.
            LanesumError: the other exceptions of ``all_reduce``.
        """
        self.phases.step = self._num_all_reduces
        return self.reduce_scatter_async(array, codec=codec, average=average, name=name).result()

    def reduce_scatter_async(self, array: V, **options: Any) -> AllReduce[V]:
        """Begin a reduce-scatter, and return it before it is done; ``options``: see ``all_reduce_async``."""
        return self._submit(array, scattered=True, **options)

    def all_gather(self, array: V) -> V:
        """Return the arrays of all workers, with the bytes that they have there.

        The bytes of each worker are sent up once, and come back to all.

        Args:
            array: dense, of any data type and shape, which are the same on all workers. A NumPy array, or a PyTorch
                tensor of the host or of a device, for which the call waits.

        Returns:
            A new array, shape ``(workers, *array.shape)``, in the order of the workers; of a tensor, on its device.

        Raises:
            ConfigurationError: ``array`` is not dense or has Python objects; or the job has a quorum, or no operation
                that leaves words as they are.
            MismatchError: another worker gathers an array of another shape or data type.
            LanesumError: the other exceptions of ``all_reduce``.
        """
        self.phases.step = self._num_all_reduces
        return self.all_gather_async(array).result()

    def all_gather_async(self, array: V, *, description: str = "") -> AllReduce[V]:
        """Begin an all-gather, and return it before it is done; see ``all_reduce_async``.

        ``description``: of the array, instead of its data type and shape.
        """
        given: Any = array
        restored: Callable[[NDArray[np.uint8]], Any]
        if is_tensor(given):
            from lanesum.codecs import tensors  # PyTorch is imported already

            flat, restored = tensors.as_bytes(given)
        else:
            given = np.asarray(given)
            flat, restored = _as_bytes(given)
        description = description or f"{given.dtype} with shape {tuple(given.shape)}"
        codec, workers = AllGather(self.ticket, description, restored), self.ticket.workers
        context = CodecContext(workers=workers, worker=self.ticket.worker, round=self._num_all_reduces)
        self._num_all_reduces += 1
        steps = codec.all_reduce(flat, context)
        shape = (workers, *given.shape)
        all_gather = AllReduce[V](self._scheduler, shape, codec, flat, context, steps, flat.size, ("",))
        all_gather.lengths_sent = True  # it compares them itself
        self._scheduler.submit(all_gather)
        return all_gather

    def _can_gather(self, array: NDArray[Any]) -> bool:
        """Return True if the session's codec would gather all workers' values in one round and add them up."""
        flags = array.flags
        return (
            0 < array.size <= self._max_gathered and array.dtype == np.float32 and flags.c_contiguous and flags.aligned
        )

    def all_reduce_async(
        self,
        array: V,
        *,
        codec: CodecSpec | Codec | None = None,
        average: bool = False,
        name: str = "",
        keep_residual: bool = False,
        parts: Sequence[Part] = (),
        error_feedback: torch.Tensor | None = None,
        description: str = "",
        elementwise: bool = False,
        in_place: bool = False,
        adaptive: bool = False,
    ) -> AllReduce[V]:
        """Begin an all-reduce, and return it before it is done.

        Several may be in flight: the next one is encoded and sent while the sums of the one before come back. All
        workers must submit the same ones in the same order. They may wait for them in any order, at any point of their
        programs. ``array`` must not change until the all-reduce is ``done``. On a device it must not change until its
        ``result`` was called.

        The all-reduce raises the exceptions of ``all_reduce``. They are the same for all all-reduces in flight, because
        the session ends with them. Only ConfigurationError is raised here, for an array that cannot be reduced.

        The call never waits for a device. An all-reduce of a device's tensor begins once the tensor is computed.

        Args:
            array, codec, average, name: as for ``all_reduce``.
            keep_residual: compute the residual for ``AllReduce.codec_result``.
            parts: the parameters that the array consists of, in order; for error messages and policies.
            error_feedback: added to the array first; only for codecs and tensors for which the codec does so.
            description: of the array, such as its data type; a difference between workers is a MismatchError, as for
                lengths. Workers without one sum with the others.
            elementwise: leave NaN and infinities to the elements that have them, if the codec is ``fixed`` and the job
                has no quorum; not with ``non_finite="raise"``. All workers must agree.
            in_place: the values may be written to ``array``, also if the all-reduce fails. A result on the host then
                shares its memory where the codec does so, and ``array`` is a contiguous one of float32.
            adaptive: see :class:`lanesum.codecs.base.CodecContext`.
        """
        return self._submit(
            array,
            codec=codec,
            average=average,
            name=name,
            keep_residual=keep_residual,
            parts=parts,
            error_feedback=error_feedback,
            description=description,
            elementwise=elementwise,
            in_place=in_place,
            adaptive=adaptive,
        )

    def _submit(
        self,
        array: V,
        *,
        codec: CodecSpec | Codec | None = None,
        description: str = "",
        elementwise: bool = False,
        **options: Any,
    ) -> AllReduce[V]:
        if elementwise:
            codec = self._elementwise(self.codec if codec is None else self.resolve_codec(codec))
        all_reduce = self._make_all_reduce(array, codec, **options)
        all_reduce.description = description
        self._scheduler.submit(all_reduce)
        return all_reduce

    def _elementwise(self, codec: Codec) -> Codec:
        if type(codec) is not FixedPoint or self.ticket.quorum or self._raises_not_finite:
            return codec
        return ElementwiseFixed(
            workers=codec.workers, block=codec.block, gathered=codec.gathered, power_of_two=codec.power_of_two
        )

    def _make_all_reduce(
        self,
        array: NDArray[Any] | torch.Tensor,
        codec: CodecSpec | Codec | None,
        average: bool = False,
        name: str = "",
        parts: Sequence[Part] = (),
        scattered: bool = False,
        **fields: Any,
    ) -> AllReduce[Any]:
        """Return the next all-reduce or reduce-scatter of this session; ``fields``: others of its CodecContext."""
        shape = self._shard_shape(np.shape(array)) if scattered else np.shape(array)
        chosen = self.codec if codec is None else self.resolve_codec(codec)
        context = CodecContext(
            workers=self.ticket.workers,
            worker=self.ticket.worker,
            seed=self.ticket.seed,
            round=self._num_all_reduces,
            tensor=name,
            average=average,
            parts=tuple(parts),
            complete=not self.ticket.quorum,
            in_pieces=self._transport.supports_withheld,
            scattered=scattered,
            **fields,
        )
        names = (name, *[part.key for part in parts])
        if type(array) is not np.ndarray and is_tensor(array):
            from lanesum.codecs import tensors  # PyTorch is imported already

            tensor = tensors.flat(array)
            if context.error_feedback is not None and not tensors.adds_error_feedback(chosen, tensor):
                raise _refuse_error_feedback(chosen)
            self._num_all_reduces += 1
            steps, ready, staging = tensors.make_steps(chosen, tensor, context)
            return AllReduce(
                self._scheduler, shape, chosen, tensor, context, steps, tensor.numel(), names, ready, staging
            )
        vector = _flat(np.asarray(array))
        if context.error_feedback is not None:
            raise _refuse_error_feedback(chosen)
        self._num_all_reduces += 1
        steps = steps_of(chosen, vector, context)
        return AllReduce(self._scheduler, shape, chosen, vector, context, steps, vector.size, names)

    def _shard_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a shard of an array of ``shape``."""
        workers = self.ticket.workers
        if not shape or shape[0] % workers:
            raise ConfigurationError(
                f"Cannot split an array of shape {tuple(shape)} into equal shards for {workers} workers.",
                "Pad its first dimension to a multiple of the number of workers.",
            )
        return (shape[0] // workers, *shape[1:])

    def wake(self) -> None:
        """Interrupt ``AllReduce.wait``, or the next call of it; the only method that any thread may call."""
        self._transport.wake()

    def interrupt(self, error: LanesumError, patience_s: float) -> None:
        """Let all-reduces end with ``error`` after ``patience_s`` without progress; callable from any thread."""
        self._transport.interrupt(error, patience_s)

    def describe(self) -> str:
        """Return the session's codec in one line; it must be equal on all workers."""
        return self.codec.describe()

    def leave(self, deadline_s: float = LEAVE_DEADLINE_S) -> bool:
        """End the session together with all other workers; return True if all of them have left.

        Use it instead of ``close`` where all workers end after the same all-reduce. A worker that closes at once
        cannot help another one that still lacks the last result after a restart of the aggregation point.

        All-reduces in flight are finished first. Leaving takes one round trip when the other workers leave too, else
        ``deadline_s`` seconds. The session is closed in any case.

        Raises MismatchError: another worker continues with an all-reduce. Absent workers raise nothing.
        """
        self._scheduler.finish_all()
        try:
            return self._transport.leave(deadline_s)
        finally:
            self.close()

    def report_failure(self, error: BaseException) -> None:
        """Tell the other workers, through the controller if there is one, that this one has failed."""
        if self._keep_alive is not None:
            self._keep_alive.report_failure(error)

    def close(self) -> None:
        """Release sockets and kept memory; idempotent. All-reduces in flight end with SessionClosedError."""
        self._transport.close()
        if self._keep_alive is not None:
            self._keep_alive.close()
        arrays.release_pooled()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self.report_failure(error)
        self.close()


def _flat(array: NDArray[Any]) -> NDArray[np.float32]:
    if array.dtype.kind != "f":
        raise ConfigurationError(
            f"all_reduce takes floating-point arrays, not {array.dtype}.", "Convert the array to float32 first."
        )
    return np.ascontiguousarray(array, np.float32).reshape(-1)


def _as_bytes(array: NDArray[Any]) -> tuple[NDArray[np.uint8], Callable[[NDArray[np.uint8]], NDArray[Any]]]:
    """Return the bytes of an array, and a function that makes arrays of its data type from bytes."""
    if array.dtype.hasobject:
        raise ConfigurationError(f"all_gather takes arrays of numbers, not of {array.dtype}.", "Pickle them first.")
    dtype = array.dtype
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8), lambda values: values.view(dtype)


def _refuse_error_feedback(codec: Codec) -> ConfigurationError:
    return ConfigurationError(
        f"Codec {codec.name} does not add error feedback to this vector.", "Add it to the vector before the all-reduce."
    )
