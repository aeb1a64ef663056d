# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""State of the DDP communication hook between buckets: session, codec, error feedback, and one thread."""

from __future__ import annotations

import atexit
import concurrent.futures
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch
import torch.distributed as dist

from lanesum._internal.closing import Closing
from lanesum.codecs.base import Codec, Part
from lanesum.codecs.registry import CodecSpec
from lanesum.errors import ConfigurationError
from lanesum.launch.run_folder import RunFolder
from lanesum.session import Session
from lanesum.torch import checkpoint
from lanesum.torch.autograd import open_range, raise_after_backward
from lanesum.torch.codec_memory import CodecMemory
from lanesum.torch.communication_thread import CommunicationThread
from lanesum.torch.error_feedback import ErrorFeedbackState
from lanesum.torch.hierarchy import HostGroup
from lanesum.torch.membership import join_job
from lanesum.torch.parameters import NUMBERED, parameter_names
from lanesum.torch.path_choice import PathChoice
from lanesum.torch.stats import HookStats, warn_unused
from lanesum.torch.step_tracker import StepTracker
from lanesum.torch.tensor_all_reduce import TensorAllReduce, TensorCommunication, check_tensor, closed_error, refusal

_WRITE_S = 1.0


# Of each process group. Another join of this process would begin a new incarnation of the job.
_joined: weakref.WeakKeyDictionary[dist.ProcessGroup, State] = weakref.WeakKeyDictionary()


class State(Closing):
    """The first argument of :func:`lanesum.torch.hook`.

    Args:
        session: this worker's membership in the job; the state closes it.
        codec: name, also with parameters such as ``thc error=0.01``, mapping or object; the session's codec when None.
        error_feedback: add each parameter's compression error to its next gradient. None: on, unless the codec is
            unbiased (flat ``thc``, in jobs without a quorum), nearly exact (``fixed`` and the sparse ones), or keeps
            error feedback itself (``policy``). ``thc`` with an ``error`` has none with adaptive optimizers, such as
            Adam: it has a smaller error of small gradients then.
        scaler: ``GradScaler`` of the loss. None: the one that makes the first step, if one does.
        model: module or DDP wrapper that names the parameters in checkpoints. Without it they are numbered in the order
            in which DDP first shows them, which is the same in every run of a model.
        host: ranks of this host that share the session of their leader.
        alternative: process group of the workers. It averages the buckets of DDP instead of lanesum where that makes
            steps shorter; see :mod:`lanesum.torch.path_choice`.

    Attributes:
        closed: ``close`` was called; the process group can join a job again.
        error_feedback: the residuals, or None where error feedback is off.
        raises_after_backward: ``backward()`` raises ``error``; otherwise the futures alone have it.

    One thread averages the buckets in the order of DDP, a few at a time, while backward computes the next ones. After a
    failure, ``backward()`` raises ``error``, and every later bucket an error of the same type that contains it. The
    workers are out of step then and must join the job again. DDP needs a new wrapper, too, because it refuses the next
    forward after an incomplete backward.
    """

    def __init__(
        self,
        session: Session,
        *,
        codec: CodecSpec | Codec | None = None,
        error_feedback: bool | None = None,
        scaler: torch.amp.GradScaler | None = None,
        model: torch.nn.Module | None = None,
        host: HostGroup | None = None,
        alternative: dist.ProcessGroup | None = None,
    ) -> None:
        self.session = session
        self.raises_after_backward = True
        self.host = host
        self._choice = None if alternative is None else PathChoice(alternative)
        self._after_leave: Callable[[], None] | None = None
        self.codec: Codec = session.codec if codec is None else session.resolve_codec(codec)
        self.closed = False
        own = self.codec.traits.keeps_error_feedback
        if error_feedback not in (None, True, False) or not hasattr(scaler or torch.amp.GradScaler, "get_scale"):
            wanted = "expected True, False or None, and a GradScaler or None"
            raise ConfigurationError(f"Invalid error_feedback={error_feedback!r} or scaler={scaler!r}: {wanted}.")
        if own and error_feedback is not None:
            raise ConfigurationError(
                f"Codec {self.codec.name} keeps error feedback itself.",
                "Configure it in the codec, and leave error_feedback of the State unset.",
            )
        traits = self.codec.traits
        # A quorum leaves out whole gradients.
        unbiased = traits.unbiased and not session.ticket.quorum
        biased = not (own or traits.nearly_exact or unbiased)
        enabled = biased if error_feedback is None else error_feedback
        by_optimizer = error_feedback is None and traits.follows_optimizer and not traits.unbiased
        self.error_feedback = ErrorFeedbackState(scaler, self.codec, by_optimizer=by_optimizer) if enabled else None
        self._memory = CodecMemory(scaler, self.codec) if own else None
        kept = self.error_feedback or self._memory
        #: The fates of the gradients, and the kind of their optimizers; None where nothing depends on them.
        self.steps: StepTracker | None = None
        if kept is not None:
            self.steps = kept.steps
        elif traits.follows_optimizer:
            self.steps = StepTracker()
        # Tensors hash by identity: a parameter is the same key after DDP has rebuilt its buckets.
        self._names: dict[torch.Tensor, str] = {} if model is None else parameter_names(model)
        self._parts([one for one in self._names if one.requires_grad])
        session.phases.open_range = open_range
        self._communication = TensorCommunication(session, host)
        name = f"lanesum-job-{session.ticket.job}-worker-{session.ticket.worker}"
        self._thread = CommunicationThread(name, session.close, session.wake, self._communication.in_flight)
        self._written_at = 0.0
        self._run_folder = RunFolder.of_environment() if host is None or host.leads else None
        if self._run_folder is not None:
            atexit.register(lambda kept: None if (state := kept()) is None else state._write_stats(), weakref.ref(self))
        self._num_steps = self._num_calls = 0
        # Also at the end of a process that does not close the state.
        self._warn_unused = weakref.finalize(self, warn_unused, session.ticket.worker, session.ticket.label)
        if host is not None and not host.leads:
            self._warn_unused.detach()  # its leader warns

    @classmethod
    def join(
        cls,
        *,
        error_feedback: bool | None = None,
        scaler: torch.amp.GradScaler | None = None,
        model: torch.nn.Module | None = None,
        **arguments: Any,
    ) -> State:
        """Join a job, wait for its other workers, and return a state for it.

        ``error_feedback``, ``scaler`` and ``model`` are those of the constructor, ``arguments`` those of
        :func:`lanesum.torch.membership.join_job`. Its ``options`` are fields of
        :class:`lanesum.session.SessionOptions`, such as ``deadline_s``.

        ``controller``, ``job``, ``worker`` and ``take_over`` are those of :func:`lanesum.join`. Where they are
        None, it reads the environment: LANESUM_CONTROLLER, LANESUM_JOB, or LANESUM_TICKET. The worker is the rank in
        the process group, or RANK without one. If no job is named, one is admitted for the ranks of the process group;
        ``admit`` and its exceptions are those of
        :func:`lanesum.torch.admission.admitted_job`. A ``codec`` that is None is that of the job, else LANESUM_CODEC,
        else ``thc``.

        The process group of the ranks is the ``alternative``, as :func:`lanesum.torch.path_choice.may_step_aside` says
        for ``step_aside``; not with an observer, ``hierarchical`` or ``non_finite="raise"``. All ranks must agree.

        ``group`` has the ranks of the job, in the order of its workers; all ranks by default. With ``hierarchical`` the
        job has one worker for each host: the ranks that torchrun started on a host reduce to the first of them, through
        a process group, and receive its result. ``local_group`` names these ranks otherwise.

        Raises:
            ConfigurationError: without ``worker``, this rank and the size of its process group are not the number of
                this worker and the size of the job.
            LanesumError: the exceptions of these functions. With a controller, also those of
                :func:`lanesum.wait_for_others`: a worker has not joined within ``wait_s`` seconds, or uses another
                codec, or another version of lanesum or PyTorch. An error on one rank is raised on all of them.
        """
        with join_job(model=model, **arguments) as membership:
            host, alternative = membership.host, membership.alternative
            state = cls(
                membership.session,
                error_feedback=error_feedback,
                scaler=scaler,
                model=model,
                host=host,
                alternative=alternative,
            )
        state._after_leave = membership.after_leave
        if dist.is_initialized():
            _joined[membership.group or cast(dist.ProcessGroup, dist.group.WORLD)] = state
        return state

    @staticmethod
    def joined(group: dist.ProcessGroup) -> State | None:
        """Return the open state that ``join`` has made for ``group``, if there is one."""
        state = _joined.get(group)
        return None if state is None or state.closed else state

    def __reduce__(self) -> tuple[Any, ...]:
        """Return a stand-in for copies and files of a model; see :class:`lanesum.torch.checkpoint.CopiedState`."""
        return checkpoint.CopiedState, ()

    @property
    def error(self) -> Exception | None:
        """The exception of the first bucket that failed, or None."""
        return self._communication.error

    @property
    def stats(self) -> HookStats:
        """Counts so far; complete when no backward is running."""
        session, phases, counted = self.session, self.session.phases, self._communication
        seconds = (counted.busy_s, phases.encode.seconds, phases.network.seconds, phases.decode.seconds)
        chosen, group_steps = ("", 0) if self._choice is None else (self._choice.summary, self._choice.group_steps)
        total, elements = counted.errors
        errors = (counted.max_error, total / elements if elements else 0.0)
        return HookStats(counted.buckets, counted.elements, *seconds, session.stats, group_steps, chosen, *errors)

    def submit(self, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """Start averaging ``bucket``; see :func:`lanesum.torch.hook`."""
        self.session.phases.step = self._num_steps
        self._num_steps += bucket.is_last()
        if self._choice is not None and self.error is None and self._choice.is_of_group(bucket):
            self._write_now_and_then()
            self._warn_unused.detach()
            if self.error_feedback is not None:
                self.error_feedback.flush_to(bucket.buffer(), self._parts(bucket.parameters()))
            return self._choice.all_reduce(bucket)
        parts = self._parts(bucket.parameters())
        return self.all_reduce(bucket.buffer(), name=f"bucket {bucket.index()}", parts=parts)

    def all_reduce(
        self,
        tensor: torch.Tensor,
        *,
        codec: CodecSpec | Codec | None = None,
        average: bool = True,
        name: str = "",
        parts: Sequence[Part] = (),
        stands_for: str = "",
        output: torch.Tensor | None = None,
    ) -> torch.futures.Future[torch.Tensor]:
        """Begin the all-reduce of a tensor in the communication thread, and return a future of the result at once.

        All workers must begin the same ones in the same order, those of backward passes included.

        Args:
            tensor: floating-point. A dense one may be overwritten by the result. The rows of a sparse one (COO) are
                summed exactly.
            codec: name or object; the state's codec when None.
            average: divide by the number of contributors.
            name: name of the tensor, for error messages.
            parts: parameters of the tensor. With them and the state's codec, error feedback is added.
            stands_for: description of another tensor, in whose place this one is compared with those of the workers.
            output: dense tensor for the sum of this worker's shard. The elements of ``tensor`` are equal shards then,
                one for each worker in the order of their numbers, and no error feedback is added.

        Raises:
            ConfigurationError: see :func:`lanesum.torch.tensor_all_reduce.check_tensor`.
            SessionClosedError: the state is closed.
            LanesumError: an earlier tensor has failed; of the type of its error.
        """
        if self.error is not None:
            raise refusal(name, self.error, closed=self.closed) from self.error
        # Refused tensors count, too: the workers would be out of step if only one of them had such a tensor.
        self._num_calls += 1
        self._write_now_and_then()
        check_tensor(tensor, name)
        if output is not None:
            self._check_output(tensor, output, name)
        if tensor.is_sparse and self.host is not None:
            raise ConfigurationError(
                f"Ranks of one host cannot add up sparse tensors such as {name or 'this one'} before lanesum does.",
                "Leave hierarchical and local_group out, or build the embedding with sparse=False.",
            )
        devices: list[int | str | torch.device] | None = [tensor.device] if tensor.device.type == "cuda" else None
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future(devices=devices)
        if tensor.numel() == 0:
            future.set_result(tensor if output is None else output)
            return future
        self._warn_unused.detach()
        remembers = bool(parts) and codec is None and not tensor.is_sparse and output is None
        feedback, memory = (self.error_feedback, self._memory) if remembers else (None, None)
        if feedback is not None:
            feedback.check_sizes(parts)
        chosen = self.codec if codec is None else self.session.resolve_codec(codec)
        adaptive = remembers and (self.steps is None or self.steps.adaptive)
        given = (tensor, future, chosen, average, name, parts, feedback, memory, self._num_calls, stands_for)
        one = TensorAllReduce(self._communication, *given, adaptive, output)
        return self._begin(one)

    def all_gather(
        self, tensor: torch.Tensor, output: torch.Tensor, *, name: str = ""
    ) -> torch.futures.Future[torch.Tensor]:
        """Begin the all-gather of a tensor in the communication thread, and return a future of ``output`` at once.

        Args:
            tensor: dense, of any data type; the same on all workers. It may be a part of ``output``.
            output: gets the tensors of all workers, one after the other; dense and contiguous.
            name: name of the tensor, for error messages.

        Raises:
            ConfigurationError: ``output`` does not fit, the ranks of a host share a session, or see
                :meth:`lanesum.session.Session.all_gather`.
            SessionClosedError, LanesumError: see ``all_reduce``.
        """
        if self.error is not None:
            raise refusal(name, self.error, closed=self.closed) from self.error
        self._num_calls += 1
        self._write_now_and_then()
        workers = self.session.ticket.workers
        dense = tensor.layout is torch.strided and output.layout is torch.strided and output.is_contiguous()
        same = (tensor.dtype, tensor.device, workers * tensor.numel()) == (output.dtype, output.device, output.numel())
        if self.host is not None or not dense or not same:
            raise ConfigurationError(
                f"Cannot gather {name or 'a tensor'} of {tensor.dtype} with shape {tuple(tensor.shape)} on {workers} "
                f"workers into {output.dtype} with shape {tuple(output.shape)}.",
                "Pass dense tensors of one type and device, the output contiguous and as many times as large, without "
                "hierarchical and local_group.",
            )
        devices: list[int | str | torch.device] | None = [tensor.device] if tensor.device.type == "cuda" else None
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future(devices=devices)
        self._warn_unused.detach()
        arguments = self._communication, tensor, future, self.codec, False, name, (), None, None, self._num_calls
        return self._begin(TensorAllReduce(*arguments, output=output, gathers=True))

    def _begin(self, one: TensorAllReduce) -> torch.futures.Future[torch.Tensor]:
        """Begin in the communication thread, and return the future."""
        # This thread must not wait for a device that still computes the gradient.
        self._thread.submit(one.begin, after=one.wait_for_gradient if one.staged else None)

        def check() -> None:
            if not one.done.is_set():
                with self.session.phases.wait:
                    one.done.wait()
            if self.error is not None:
                raise self.error

        if self.raises_after_backward:
            raise_after_backward(check)
        return one.future

    def _check_output(self, tensor: torch.Tensor, output: torch.Tensor, name: str) -> None:
        """Raise ConfigurationError if ``output`` cannot get a shard of ``tensor``."""
        check_tensor(output, f"the shard of {name or 'a tensor'}")
        if self.host is not None:
            raise ConfigurationError(
                "Ranks of one host cannot add up shards before lanesum does.", "Leave hierarchical and local_group out."
            )
        workers = self.session.ticket.workers
        same = (tensor.dtype, tensor.device, tensor.layout) == (output.dtype, output.device, torch.strided)
        if not same or output.layout is not torch.strided or tensor.numel() != workers * output.numel():
            raise ConfigurationError(
                f"{name or 'A tensor'} of {tensor.dtype} with shape {tuple(tensor.shape)} has no equal shards for "
                f"{workers} workers of {output.dtype} with shape {tuple(output.shape)}.",
                "Pass dense tensors of one type and device, and pad the input to a multiple of the workers.",
            )

    def _parts(self, parameters: Sequence[torch.Tensor]) -> list[Part]:
        """Return the names and places of the ``parameters`` (in bucket order) in the flat buffer of their bucket."""
        parts, start = [], 0
        for parameter in parameters:
            key = self._names.setdefault(parameter, f"{NUMBERED}{len(self._names)}")
            if self.steps is not None:
                kept = self.error_feedback is not None or self._memory is not None
                self.steps.watch(parameter, key, in_backward=kept)
            parts.append(Part(key, start, start + parameter.numel()))
            start += parameter.numel()
        return parts

    def take_skipped(self) -> str | None:
        """Return the parameter for which a bucket of this backward pass was skipped, or None; then forget it.

        A policy can skip gradients that are not finite, on all ranks alike. The mean of such a bucket is zero: skip the
        optimizer's step. Call this after every ``backward()``.
        """
        skipped, self._communication.skipped = self._communication.skipped, None
        return skipped

    def state_dict(self) -> dict[str, Any]:
        """Return the state for a checkpoint; see :func:`lanesum.torch.checkpoint.state_dict`. Call it between steps.

        ``"adaptive"`` is the kind of the optimizer, so that the next step has the same bits as without a restart.
        """
        if self._memory is not None:
            self._memory.steps.find_taken()
        state = checkpoint.state_dict(self.codec, self.error_feedback, self._sizes(), self._worker())
        return state if self.steps is None else {**state, "adaptive": self.steps.adaptive}

    def _worker(self) -> tuple[int, int]:
        """Return the number of this worker, and that of all workers."""
        if self.host is not None and not self.host.leads:
            return 0, 1  # without residuals
        return self.session.ticket.worker, self.session.ticket.workers

    def _sizes(self) -> dict[str, int]:
        """Return the number of elements of each parameter by name."""
        return {name: parameter.numel() for parameter, name in self._names.items()}

    def load_state_dict(self, state: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
        """Replace the state by a :meth:`state_dict`.

        For another number of workers, pass a list of the states of all workers that there were: each worker gets the
        mean of their residuals.

        Raises:
            ForeignCheckpointError: it has other parameters than this state's model.
            ForeignResidualsError: it is the state of another worker.
            ConfigurationError: it does not fit this state for another reason.

        The state is unchanged then.
        """
        checkpoint.load_state_dict(self.codec, self.error_feedback, self._sizes(), self._worker(), state)
        if self.steps is not None:
            one = state if isinstance(state, Mapping) else state[0]
            self.steps.adaptive = bool(one.get("adaptive", True))
        if self._memory is not None:
            self._memory.clear()

    def leave(self) -> bool:
        """End the job together with all other workers, after the same bucket; return True if all of them have left.

        Call it after the last step instead of ``close``, for the reason given at
        :meth:`lanesum.session.Session.leave`. ``close`` after it does nothing more. After a failure it closes at once.

        Raises LanesumError: the exceptions of :meth:`lanesum.session.Session.leave`.
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
        self.closed = True
        if self.error is None:
            self._warn_unused()
            self._communication.error = closed_error()
        self.session.close()
        self._thread.stop()
        self._write_stats()
        self._run_folder = None  # a later state of this worker has the file

    def _write_now_and_then(self) -> None:
        now = time.perf_counter()
        if now - self._written_at > _WRITE_S:
            self._written_at = now
            self._write_stats()

    def _write_stats(self) -> None:
        """Write the counts for the status line of ``lanesum launch``."""
        if self._run_folder is not None and (self._num_steps or self._num_calls):
            stats, ticket = self.stats, self.session.ticket
            own = {"steps": self._num_steps, "all_reduces": self._num_calls}
            own["packets_sent"] = stats.transport.packets_sent
            self._run_folder.write_stats(ticket.worker, stats.as_dict() | own, ticket.job)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self.session.report_failure(error)
        self.close()
