# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What the communication hook keeps between buckets: session, codec, error feedback, one thread."""

from __future__ import annotations

import collections
import contextlib
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from lanesum._internal.closing import Closing
from lanesum.codecs.base import Codec, Result, as_stateful
from lanesum.errors import ConfigurationError
from lanesum.gpu.staging import Mark, on_device, staging
from lanesum.gpu.tensors import adds_memory
from lanesum.join import DEFAULT_WAIT_S, KeepAlive, controller_address, join, wait_for_others
from lanesum.session import Pending, RoundObserver, Session
from lanesum.torch.memory import ParameterMemory, Part
from lanesum.torch.thread import CommunicationThread
from lanesum.transport import TransportStats
from lanesum.transport.congestion import CongestionControl
from lanesum.transport.errors import SessionClosedError
from lanesum.transport.udp import DEFAULT_DEADLINE_S, DEFAULT_WINDOW


@dataclass(frozen=True, slots=True)
class HookStats:
    """Counts of one worker since its state was made.

    Attributes:
        buckets: buckets averaged.
        elements: gradient elements in them; 4 bytes each as float32.
        busy_s: seconds in which at least one of them was under way: encode, send, wait, decode.
        transport: packets, bytes and retransmissions.
    """

    buckets: int
    elements: int
    busy_s: float
    transport: TransportStats


class State(Closing):
    """The first argument of :func:`lanesum.torch.hook`.

    Args:
        session: this worker's place in the job; the state closes it.
        codec: name or object; the session's codec when None.
        error_feedback: remember, per parameter, what the codec could not say, and add it to the next gradient. None
            means: unless the codec is nearly exact, as ``fixed`` and the sparse ones, or does so itself (``policy``).
        model: gives the error-feedback memory the parameters' names, so that a checkpoint outlives a change of their
            order. Pass the module or its DDP wrapper; without it parameters go by number.

    Buckets are averaged in the order in which DDP hands them out, by one thread, a few at a time, while backward
    computes the next ones. When one fails, ``error`` keeps its exception, ``backward()`` raises it, and so does every
    later bucket: the workers are out of step then, and the job must be joined anew. (DDP, too, wants a new wrapper
    then: one whose backward was cut short refuses the next forward with an error of its own.)
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
        self.keep_alive: KeepAlive | None = None
        self.codec: Codec = session.codec if codec is None else session.resolve_codec(codec)
        self.error: Exception | None = None
        own = self.codec.traits.keeps_error_feedback
        if own and error_feedback is not None:
            raise ConfigurationError(
                f"Codec {self.codec.name} keeps error feedback itself.", "Say so to the codec, not to the State."
            )
        lossy = not own and not self.codec.traits.nearly_exact
        names = {} if model is None else {p: _plain_name(name) for name, p in model.named_parameters()}
        self._parameters = ParameterMemory(names)
        self.memory = self._parameters if (lossy if error_feedback is None else error_feedback) else None
        self._skipped: str | None = None
        self._thread = CommunicationThread(
            f"lanesum-job-{session.ticket.job}-worker-{session.ticket.worker}", session.close, session.wake
        )
        self._under_way: collections.deque[_Bucket] = collections.deque()  # of the communication thread
        self._busy_since = 0.0
        self._buckets = 0
        self._elements = 0
        self._busy_s = 0.0

    @classmethod
    def join(
        cls,
        *,
        controller: str | None = None,
        job: str | None = None,
        worker: int | None = None,
        codec: str | Codec = "thc",
        error_feedback: bool | None = None,
        model: torch.nn.Module | None = None,
        window: int = DEFAULT_WINDOW,
        congestion: str | CongestionControl = "aimd",
        pacing: bool = False,
        deadline_s: float = DEFAULT_DEADLINE_S,
        observer: RoundObserver | None = None,
        wait_s: float = DEFAULT_WAIT_S,
    ) -> State:
        """Join a job, wait for its other workers, and make the state for it.

        ``controller``, ``job`` and ``worker`` are those of :func:`lanesum.join.join`, which takes what is None from
        the environment: LANESUM_CONTROLLER, LANESUM_JOB, RANK, or LANESUM_TICKET. ``window``, ``congestion``,
        ``pacing``, ``deadline_s`` and ``observer`` are :class:`lanesum.session.Session`'s, the rest is the
        constructor's. Raises what those raise.

        With a controller, all workers must come within ``wait_s`` seconds and use the same codec, or
        :func:`lanesum.join.wait_for_others` raises; and until the state is closed a thread keeps the job alive.
        """
        ticket = join(controller=controller, job=job, worker=worker)
        session = Session(
            ticket,
            codec=codec,
            window=window,
            congestion=congestion,
            pacing=pacing,
            deadline_s=deadline_s,
            observer=observer,
        )
        state = cls(session, error_feedback=error_feedback, model=model)
        address = controller_address(controller)
        if address is not None:
            try:
                wait_for_others(ticket, address, description=state.codec.describe(), timeout_s=wait_s)
            except BaseException:
                state.close()
                raise
            state.keep_alive = KeepAlive(ticket, address)
            state.keep_alive.start()
        return state

    @property
    def stats(self) -> HookStats:
        """Counts so far; complete when no backward is running."""
        return HookStats(self._buckets, self._elements, self._busy_s, self.session.stats)

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
        devices = [buffer.device] if buffer.device.type == "cuda" else None
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future(devices=devices)
        if buffer.numel() == 0:
            future.set_result(buffer)
            return future
        parts = self._parameters.parts(bucket.parameters())
        name = f"bucket {bucket.index()}"
        one: _Bucket
        if not on_device(buffer.device):
            # A float32 buffer is not copied: DDP leaves it alone until the future is done.
            one = _Bucket(self, future, name, parts, buffer, buffer.detach().to(torch.float32).numpy())
            self._thread.submit(one.begin)
        else:
            # The gradient may be still to be computed, which this thread must not wait for.
            made = staging(buffer.device).mark()
            one = _DeviceBucket(self, future, name, parts, buffer, made)
            self._thread.submit(one.begin, after=one.wait_for_gradient)
        self._raise_after_backward(one.done)
        return future

    def _raise_after_backward(self, done: threading.Event) -> None:
        """Have ``backward()`` raise the bucket's exception itself.

        A future's exception reaches the user as RuntimeError("Unable to cast ... to Tensor"), because DDP takes the
        exception object for the result. Callbacks run at the end of backward in the order they were queued, so ours
        comes before the one with which DDP waits for its futures.
        """

        def check() -> None:
            done.wait()
            if self.error is not None:
                raise self.error

        # Outside of a backward pass there is no end to wait for: then the future alone tells.
        with contextlib.suppress(RuntimeError):
            torch.autograd.Variable._execution_engine.queue_callback(check)

    def take_skipped(self) -> str | None:
        """The parameter because of which a bucket of this backward pass was skipped, or None; forgets it.

        The same on all ranks, where a policy skips gradients that are not finite. Such a bucket's mean is zero: leave
        the optimizer's step out. Ask after every ``backward()``.
        """
        skipped, self._skipped = self._skipped, None
        return skipped

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint must keep: ``{"codec": name, "memory": {parameter: flat float32 tensor}}``.

        And ``"state"``, the codec's own, where it has one. The memory differs from worker to worker: every rank saves
        its own. Call it between steps.
        """
        state = {"codec": self.codec.name, "memory": {} if self.memory is None else self.memory.state_dict()}
        codec = as_stateful(self.codec)
        return state if codec is None else {**state, "state": _with_tensors(codec.state_dict())}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back a :meth:`state_dict`. Raises ConfigurationError, changing nothing, if it does not fit."""
        memory = state.get("memory")
        if not isinstance(memory, Mapping):
            raise ConfigurationError("This is not the state of a lanesum hook: it has no 'memory'.")
        if state.get("codec") != self.codec.name:
            raise ConfigurationError(
                f"This state is of codec {state.get('codec')!r}, not {self.codec.name!r}.",
                "Use the codec it was saved with, or start without it.",
            )
        if self.memory is None and memory:
            raise ConfigurationError(
                "This state has error-feedback memory, but error feedback is off.", "Build State(error_feedback=True)."
            )
        codec = as_stateful(self.codec)
        if codec is not None:
            if not isinstance(state.get("state"), Mapping):
                raise ConfigurationError(f"This state lacks that of codec {self.codec.name!r}.", "Start without it.")
            codec.load_state_dict(state["state"])
        if self.memory is not None:
            self.memory.load_state_dict(memory)

    def leave(self) -> bool:
        """End it together with all other workers, after the same bucket; True when everybody has.

        What ``close`` is, but staying as long as another worker may still lack the last result: see
        :meth:`lanesum.session.Session.leave`, whose exceptions it raises. Call it after the last step; ``close`` after
        it does nothing more. After a failure it closes at once.
        """
        outcome: list[bool | Exception] = []
        done = threading.Event()

        def goodbye() -> None:
            """Not among the buckets: those are complete."""
            try:
                outcome.append(self.error is None and self.session.leave())
            except Exception as error:
                outcome.append(error)
            finally:
                done.set()

        if self.error is None:
            # In the communication thread: a session takes one call at a time.
            self._thread.submit(goodbye, alone=True)
            done.wait()
        self.close()
        for result in outcome:
            if isinstance(result, Exception):
                raise result
        return outcome == [True]

    def close(self) -> None:
        """End the thread and the session; idempotent. Backward raises SessionClosedError afterwards."""
        if self.error is None:
            self.error = SessionClosedError("This State is closed.", "Make a new one and register it anew.")
        if self.keep_alive is not None:
            self.keep_alive.close()
        self.session.close()
        self._thread.stop()


class _Bucket:
    """One bucket of the host, in the communication thread: begun, then completed in any case."""

    def __init__(
        self,
        state: State,
        future: torch.futures.Future[torch.Tensor],
        name: str,
        parts: list[Part],
        buffer: torch.Tensor,
        vector: Any,
    ) -> None:
        self.done = threading.Event()
        self.parts = parts
        self._state = state
        self._future = future
        self._name = name
        self._vector = vector
        self._buffer = buffer
        self._pending: Pending | None = None
        self._kept = False

    def begin(self) -> _Bucket | None:
        state = self._state
        if not state._under_way:
            state._busy_since = time.perf_counter()
        try:
            if state.error is not None:
                raise state.error
            if state.memory is not None:
                keys = {part.key for part in self.parts}
                for other in state._under_way:
                    # Two buckets of a backward have no parameter in common, but others may hand in what they like.
                    if keys & {part.key for part in other.parts}:
                        other.keep()
            self._pending = self._start()
        except Exception as error:
            self._fail(error)
            return None
        state._under_way.append(self)
        return self

    def _start(self) -> Pending:
        memory = self._state.memory
        return self._all_reduce(self._vector if memory is None else memory.add_to(self._vector, self.parts))

    def _all_reduce(self, vector: Any, memory: Any = None) -> Pending:
        state = self._state
        return state.session.all_reduce_async(
            vector,
            codec=state.codec,
            average=True,
            name=self._name,
            keep_residual=state.memory is not None,
            parts=self.parts,
            memory=memory,
        )

    def wait(self) -> bool:
        assert self._pending is not None
        return self._pending.wait()

    def keep(self) -> Result:
        """What it came to; what the codec could not say of it is remembered."""
        assert self._pending is not None
        result = self._pending.outcome()
        if self._state.memory is None:
            self._state._skipped = result.skipped or self._state._skipped
        elif not self._kept:
            assert result.residual is not None
            self._state.memory.keep(result.residual, self.parts)
            self._kept = True
        return result

    def complete(self) -> None:
        """Complete the future in any case."""
        assert self._state._under_way.popleft() is self
        try:
            self._finish()
        except Exception as error:
            self._fail(error)
        else:
            self.done.set()

    def _finish(self) -> None:
        state, mean = self._state, self._mean(self.keep().values)
        # Counted before anybody who waits for the bucket can look.
        state._buckets += 1
        state._elements += self._buffer.numel()
        now = time.perf_counter()
        state._busy_s += now - state._busy_since
        state._busy_since = now
        self._future.set_result(mean)

    def _mean(self, values: Any) -> torch.Tensor:
        """The codec's ``values``, as DDP gets them: in the buffer."""
        return self._buffer.copy_(torch.from_numpy(values))

    def _fail(self, error: Exception) -> None:
        # The first failure is the cause; what fails after it, or because of close(), follows from it.
        self._state.error = self._state.error or error
        try:
            self._future.set_exception(self._state.error)
        finally:
            self.done.set()


class _DeviceBucket(_Bucket):
    """One bucket of a device: what is done there is launched in a stream of lanesum's own."""

    def __init__(
        self,
        state: State,
        future: torch.futures.Future[torch.Tensor],
        name: str,
        parts: list[Part],
        buffer: torch.Tensor,
        made: Mark,
    ) -> None:
        super().__init__(state, future, name, parts, buffer, None)
        self._made = made
        self._staging = staging(buffer.device)

    def wait_for_gradient(self) -> None:
        # A device that has failed says so again when something is launched there, to those who can handle it.
        with contextlib.suppress(Exception):
            self._made.wait()

    def _start(self) -> Pending:
        memory = self._state.memory
        with self._staging.stream():
            self._staging.follow(self._made, self._buffer)
            vector = self._buffer.detach().to(torch.float32)
            if memory is None:
                return self._all_reduce(vector)
            if adds_memory(self._state.codec, vector):
                return self._all_reduce(vector, memory.of(vector, self.parts))
            return self._all_reduce(memory.add_to(vector, self.parts))

    def keep(self) -> Result:
        with self._staging.stream():
            return super().keep()

    def _finish(self) -> None:
        # The future notes where the current stream is when it completes, and DDP's stream waits for that.
        with self._staging.stream():
            super()._finish()

    def _mean(self, values: Any) -> torch.Tensor:
        # DDP copies from whatever it gets into the gradients: by way of the buffer would be a copy more.
        return values if values.dtype == self._buffer.dtype else self._buffer.copy_(values)


def _with_tensors(state: Any) -> Any:
    """Arrays become tensors, so that ``torch.load`` takes them back."""
    if isinstance(state, dict):
        return {key: _with_tensors(one) for key, one in state.items()}
    return torch.from_numpy(state) if isinstance(state, np.ndarray) else state


def _plain_name(name: str) -> str:
    """A parameter's name without the prefix that the DDP wrapper adds."""
    return name.removeprefix("module.")
