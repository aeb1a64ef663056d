# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""State of the communication hook between buckets: session, codec, error feedback, and one thread."""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import functools
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, cast

import torch
import torch.distributed as dist

from lanesum import environment
from lanesum._internal.closing import Closing
from lanesum.codecs.base import Codec, Part, Result
from lanesum.codecs.registry import DEFAULT_CODEC
from lanesum.errors import ConfigurationError
from lanesum.gpu.staging import Staging, needs_staging, staging_for
from lanesum.gpu.tensors import adds_error_feedback
from lanesum.join import DEFAULT_WAIT_S, join, wait_for_others
from lanesum.keep_alive import KeepAlive
from lanesum.launch.run_folder import RunFolder
from lanesum.session import AllReduceHandle, RoundObserver, Session
from lanesum.session.session import DEFAULT_BUSY_S, NonFinite
from lanesum.torch import checkpoint
from lanesum.torch.admission import admitted_job, release
from lanesum.torch.communication_thread import CommunicationThread
from lanesum.torch.error_feedback import ErrorFeedbackState
from lanesum.torch.parameters import NUMBERED, parameter_names
from lanesum.torch.stats import HookStats, open_range, warn_unused
from lanesum.transport import JobTicket
from lanesum.transport.congestion import CongestionControl
from lanesum.transport.constants import DEFAULT_DEADLINE_S, DEFAULT_WINDOW
from lanesum.transport.errors import SessionClosedError

_WRITE_S = 1.0


class State(Closing):
    """The first argument of :func:`lanesum.torch.hook`.

    Args:
        session: this worker's membership in the job; the state closes it.
        codec: name or object; the session's codec when None.
        error_feedback: add each parameter's compression error to its next gradient. None: on, unless the codec is
            nearly exact (``fixed`` and the sparse ones) or keeps error feedback itself (``policy``).
        model: module or DDP wrapper that names the parameters in checkpoints. Without it they are numbered in the order
            in which DDP first shows them, which is the same in every run of a model.

    Attributes:
        error: the exception of the first bucket that failed, or None.
        error_feedback: the residuals, or None where error feedback is off.

    One thread averages the buckets in the order of DDP, a few at a time, while backward computes the next ones. After a
    failure, ``backward()`` and every later bucket raise ``error``. The workers are out of step then and must join the
    job again. DDP needs a new wrapper, too, because it refuses the next forward after an incomplete backward.
    """

    def __init__(
        self,
        session: Session,
        *,
        codec: str | Codec | None = None,
        error_feedback: bool | None = None,
        model: torch.nn.Module | None = None,
    ) -> None:
        self.session = session
        self._after_leave: Callable[[], None] | None = None
        self.codec: Codec = session.codec if codec is None else session.resolve_codec(codec)
        self.error: Exception | None = None
        own = self.codec.traits.keeps_error_feedback
        if own and error_feedback is not None:
            raise ConfigurationError(
                f"Codec {self.codec.name} keeps error feedback itself.",
                "Configure it in the codec, and leave error_feedback of the State unset.",
            )
        lossy = not own and not self.codec.traits.nearly_exact
        enabled = lossy if error_feedback is None else error_feedback
        self.error_feedback = ErrorFeedbackState() if enabled else None
        # Tensors hash by identity: a parameter is the same key after DDP has rebuilt its buckets.
        self._names: dict[torch.Tensor, str] = {} if model is None else parameter_names(model)
        session.phases.open_range = open_range
        self._skipped: str | None = None
        self._thread = CommunicationThread(
            f"lanesum-job-{session.ticket.job}-worker-{session.ticket.worker}", session.close, session.wake
        )
        self._in_flight: collections.deque[_Bucket] = collections.deque()  # used by the communication thread alone
        self._busy_since = 0.0
        self._run_folder = RunFolder.of_environment()
        self._written_at = 0.0
        self._num_steps = 0
        self._num_buckets = 0
        self._num_elements = 0
        self._busy_s = 0.0
        # Also at the end of a process that does not close the state.
        self._warn_unused = weakref.finalize(self, warn_unused, session.ticket.worker, session.ticket.job)

    @classmethod
    def join(
        cls,
        *,
        controller: str | None = None,
        job: str | None = None,
        worker: int | None = None,
        admit: bool | None = None,
        codec: str | Codec | None = None,
        error_feedback: bool | None = None,
        model: torch.nn.Module | None = None,
        window: int = DEFAULT_WINDOW,
        congestion: str | CongestionControl = "aimd",
        pacing: bool = False,
        deadline_s: float = DEFAULT_DEADLINE_S,
        busy_s: float = DEFAULT_BUSY_S,
        observer: RoundObserver | None = None,
        non_finite: NonFinite = "mean",
        wait_s: float = DEFAULT_WAIT_S,
        take_over: bool = False,
    ) -> State:
        """Join a job, wait for its other workers, and return a state for it.

        ``controller``, ``job``, ``worker`` and ``take_over`` are those of :func:`lanesum.join.join`. Where they are
        None, it reads the environment: LANESUM_CONTROLLER, LANESUM_JOB, RANK, or LANESUM_TICKET. If no job is named,
        one is admitted for the ranks of the process group; ``admit`` and its exceptions are those of
        :func:`lanesum.torch.admission.admitted_job`. A ``codec`` that is None is that of the job, else LANESUM_CODEC,
        else ``thc``. ``window``, ``congestion``, ``pacing``, ``deadline_s``, ``busy_s``, ``observer`` and
        ``non_finite`` are those of :class:`lanesum.session.Session`, the rest of the constructor.

        Raises:
            ConfigurationError: without ``worker``, this rank and the size of its process group are not the number of
                this worker and the size of the job.
            LanesumError: the exceptions of these functions. With a controller, also those of
                :func:`lanesum.join.wait_for_others`: a worker has not joined within ``wait_s`` seconds, or uses another
                codec, or another version of lanesum or PyTorch. An error on one rank is raised on all of them.
        """
        job = admitted_job(controller, job, codec, admit=admit)
        ticket = join(controller=controller, job=job, worker=worker, take_over=take_over)
        opened: KeepAlive | Session | None = KeepAlive.of(ticket)
        try:
            if worker is None:
                _check_group(ticket, model)
            opened = session = Session(
                ticket,
                codec=codec or ticket.codec or os.environ.get(environment.CODEC) or DEFAULT_CODEC,
                window=window,
                congestion=congestion,
                pacing=pacing,
                deadline_s=deadline_s,
                busy_s=busy_s,
                observer=observer,
                non_finite=non_finite,
            )
            if ticket.controller:
                described, facts = session.describe(), {"torch": str(torch.__version__)}
                wait_for_others(ticket, ticket.controller, description=described, facts=facts, timeout_s=wait_s)
            state = cls(session, error_feedback=error_feedback, model=model)
        except BaseException as error:
            if opened is not None:
                opened.report_failure(error)
                opened.close()
            raise
        if ticket.controller and job is not None:
            state._after_leave = functools.partial(release, ticket.controller, job)
        return state

    @property
    def stats(self) -> HookStats:
        """Counts so far; complete when no backward is running."""
        session = self.session
        phases = session.phases
        seconds = (self._busy_s, phases.encode.seconds, phases.network.seconds, phases.decode.seconds)
        return HookStats(self._num_buckets, self._num_elements, *seconds, session.stats)

    def submit(self, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """Start averaging ``bucket``; see :func:`lanesum.torch.hook`."""
        if self.error is not None:
            raise self.error
        buffer = bucket.buffer()
        if buffer.is_sparse:
            raise ConfigurationError(
                "lanesum averages dense gradients; this bucket is sparse.", "Build the embedding with sparse=False."
            )
        if not buffer.is_floating_point():
            raise ConfigurationError(
                f"lanesum averages floating-point gradients; this bucket has {buffer.dtype}.",
                "Keep complex parameters as real ones: torch.view_as_real.",
            )
        devices: list[int | str | torch.device] | None = [buffer.device] if buffer.device.type == "cuda" else None
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future(devices=devices)
        self._num_steps += bucket.is_last()
        if buffer.numel() == 0:
            future.set_result(buffer)
            return future
        self._warn_unused.detach()
        parts = self._parts(bucket.parameters())
        if self.error_feedback is not None:
            self.error_feedback.check_sizes(parts)
        one = _Bucket(self, f"bucket {bucket.index()}", parts, buffer, future)
        # This thread must not wait for a device that still computes the gradient.
        self._thread.submit(one.begin, after=one.wait_for_gradient if one.staged else None)
        self._raise_after_backward(one.done)
        return future

    def _parts(self, parameters: Sequence[torch.Tensor]) -> list[Part]:
        """Return the names and places of the ``parameters`` (in bucket order) in the flat buffer of their bucket."""
        parts, start = [], 0
        for parameter in parameters:
            key = self._names.setdefault(parameter, f"{NUMBERED}{len(self._names)}")
            parts.append(Part(key, start, start + parameter.numel()))
            start += parameter.numel()
        return parts

    def _raise_after_backward(self, done: threading.Event) -> None:
        """Let ``backward()`` raise the exception of a bucket itself.

        DDP takes the exception of a future for its result, so users would see RuntimeError("Unable to cast ... to
        Tensor"). Callbacks run at the end of backward in the order of their registration. So this one runs before the
        one with which DDP waits for its futures.
        """

        def check() -> None:
            if not done.is_set():
                with open_range("lanesum::wait") or contextlib.nullcontext():
                    done.wait()
            if self.error is not None:
                raise self.error

        # Outside a backward pass there is no end to wait for. Then the future alone has the exception.
        with contextlib.suppress(RuntimeError):
            torch.autograd.Variable._execution_engine.queue_callback(check)

    def take_skipped(self) -> str | None:
        """Return the parameter for which a bucket of this backward pass was skipped, or None; then forget it.

        A policy can skip gradients that are not finite, on all ranks alike. The mean of such a bucket is zero: skip the
        optimizer's step. Call this after every ``backward()``.
        """
        skipped, self._skipped = self._skipped, None
        return skipped

    def state_dict(self) -> dict[str, Any]:
        """Return the state for a checkpoint; see :func:`lanesum.torch.checkpoint.state_dict`. Call it between steps."""
        return checkpoint.state_dict(self.codec, self.error_feedback, self._sizes())

    def _sizes(self) -> dict[str, int]:
        """Return the number of elements of each parameter by name."""
        return {name: parameter.numel() for parameter, name in self._names.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace the state by a :meth:`state_dict`.

        Raises:
            ForeignCheckpointError: it has other parameters than this state's model.
            ConfigurationError: it does not fit this state for another reason.

        The state is unchanged then.
        """
        checkpoint.load_state_dict(self.codec, self.error_feedback, self._sizes(), state)

    def leave(self) -> bool:
        """End the job together with all other workers, after the same bucket; return True if all of them have left.

        Call it after the last step instead of ``close``, for the reason given at
        :meth:`lanesum.session.Session.leave`. ``close`` after it does nothing more. After a failure it closes at once.

        Raises:
            LanesumError: the exceptions of :meth:`lanesum.session.Session.leave`.
        """
        left: concurrent.futures.Future[bool] = concurrent.futures.Future()

        def leave_session() -> None:
            try:
                left.set_result(self.error is None and self.session.leave())
            except BaseException as error:
                left.set_exception(error)

        if self.error is None:
            # In the communication thread, because a session takes one call at a time.
            self._thread.submit(leave_session, alone=True)
            concurrent.futures.wait([left])
        self.close()
        done = left.done() and left.result()
        if done and self._after_leave is not None:
            self._after_leave()
        return done

    def close(self) -> None:
        """End the thread and the session; idempotent. A later backward raises SessionClosedError."""
        if self.error is None:
            self._warn_unused()
            self.error = SessionClosedError("This State is closed.", "Make a new State and register it again.")
        self.session.close()
        self._thread.stop()
        self._write_stats()

    def _write_stats(self) -> None:
        """Write the counts for the status line of ``lanesum launch``."""
        if self._run_folder is not None and self._num_steps:
            stats = self.stats
            own = {"steps": self._num_steps, "packets_sent": stats.transport.packets_sent}
            self._run_folder.write_stats(self.session.ticket.worker, stats.as_dict() | own)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.session.report_failure(error)
        self.close()


def _check_group(ticket: JobTicket, model: torch.nn.Module | None) -> None:
    """Raise ConfigurationError if the process group of ``model``, or the default one, is not that of the job."""
    if not dist.is_initialized():
        return
    group = getattr(model, "process_group", None)
    size, rank = dist.get_world_size(group), dist.get_rank(group)
    if (size, rank) != (ticket.workers, ticket.worker):
        raise ConfigurationError(
            f"Rank {rank} of a process group of {size} has joined job {ticket.job} as worker {ticket.worker} of "
            f"{ticket.workers}.",
            "Start as many ranks as the job has workers, or admit the job for as many workers as there are ranks; rank "
            "n is worker n unless worker is given.",
        )


class _Bucket:
    """One bucket: begun in the communication thread, then completed in any case.

    Work on a device is launched in the stream of ``lanesum.gpu.staging``.

    Attributes:
        done: set once the future is complete.
        staged: the gradient is on a device, which may still compute it.
    """

    def __init__(
        self,
        state: State,
        name: str,
        parts: list[Part],
        buffer: torch.Tensor,
        future: torch.futures.Future[torch.Tensor],
    ) -> None:
        self.done = threading.Event()
        self.staged = needs_staging(buffer.device)
        self._state = state
        self._name = name
        self._parts = parts
        self._buffer = buffer
        self._future = future
        self._staging = staging_for(buffer.device) if self.staged else Staging(buffer.device)
        self._computed = self._staging.record_event()
        self._handle: AllReduceHandle[torch.Tensor] | None = None
        self._result: Result | None = None

    def wait_for_gradient(self) -> None:
        """Wait, in a thread of its own, until the device has computed the gradient."""
        # A device that has failed raises again when work is launched there, where the exception is handled.
        with contextlib.suppress(Exception):
            self._computed.synchronize()

    def begin(self) -> _Bucket | None:
        """Submit the all-reduce of the bucket; return None if that failed."""
        state = self._state
        if not state._in_flight:
            state._busy_since = time.perf_counter()
        try:
            if state.error is not None:
                raise state.error
            if state.error_feedback is not None:
                # Buckets of one backward pass have no parameter in common, but other callers' buckets may.
                keys = {part.key for part in self._parts}
                for other in state._in_flight:
                    if not keys.isdisjoint(part.key for part in other._parts):
                        other._take_result()
            with self._staging.stream():
                self._submit()
        except Exception as error:
            self._fail(error)
            return None
        state._in_flight.append(self)
        return self

    def _submit(self) -> None:
        codec, feedback = self._state.codec, self._state.error_feedback
        self._staging.wait_event(self._computed, self._buffer)
        # DDP does not use a buffer until its future is complete, so a float32 one is not copied.
        vector, added = self._buffer.detach().to(torch.float32), None
        if feedback is not None and adds_error_feedback(codec, vector):
            added = feedback.gather(vector, self._parts)
        elif feedback is not None:
            vector = feedback.add_to(vector, self._parts)
        self._handle = self._state.session.all_reduce_async(
            vector,
            codec=codec,
            average=True,
            name=self._name,
            keep_residual=feedback is not None,
            parts=self._parts,
            error_feedback=added,
        )

    def wait(self) -> bool:
        """Wait for the all-reduce; return False if ``Session.wake`` interrupted the wait."""
        assert self._handle is not None
        return self._handle.wait()

    def complete(self) -> None:
        """Complete the future with the mean or an exception."""
        state = self._state
        assert state._in_flight.popleft() is self
        try:
            # The future records the current stream when it completes, and DDP's stream waits for that one.
            with self._staging.stream():
                mean = self._mean(self._take_result())
                # Counted before the future is complete, so that its caller finds the bucket in the counts.
                state._num_buckets += 1
                state._num_elements += self._buffer.numel()
                now = time.perf_counter()
                state._busy_s += now - state._busy_since
                state._busy_since = now
                if now - state._written_at > _WRITE_S:
                    state._written_at = now
                    state._write_stats()
                self._future.set_result(mean)
        except Exception as error:
            self._fail(error)
        else:
            self.done.set()

    def _take_result(self) -> Result:
        """Return the result, and store its residual as error feedback, once."""
        if self._result is None:
            assert self._handle is not None
            with self._staging.stream():
                self._result = self._handle.codec_result()
            state, residual = self._state, self._result.residual
            state._skipped = self._result.skipped or state._skipped
            # Without a sum, the next step gets the residuals of the last one.
            if state.error_feedback is not None and not self._result.not_finite:
                assert residual is not None
                state.error_feedback.store(cast(torch.Tensor, residual), self._parts)
        return self._result

    def _mean(self, result: Result) -> torch.Tensor:
        values = cast(torch.Tensor, result.values)  # as the bucket
        # DDP accepts another tensor than the buffer, which saves a copy on a device.
        return values if self.staged and values.dtype == self._buffer.dtype else self._buffer.copy_(values)

    def _fail(self, error: Exception) -> None:
        # The first failure is the cause. Later ones, and those after close(), follow from it.
        if self._state.error is None:
            self._state.error = error
            self._state.session.report_failure(error)
        try:
            # PyTorch annotates the parameter as a result.
            self._future.set_exception(self._state.error)  # type: ignore[arg-type]
        finally:
            self.done.set()
