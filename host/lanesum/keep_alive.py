# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Liveness of a job's workers: a stream from the controller keeps the job alive, and brings the failures of the others.

The controller notices the end of a process at once, because its stream ends. A worker that fails reports the cause
first: on an error of a session, on an exception that ends the script, and at the end of the script.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import math
import os
import secrets
import sys
import threading
import time
import weakref
from collections.abc import Callable, Collection
from typing import Any, Protocol

import numpy as np

from lanesum._internal.closing import Serving
from lanesum.errors import LanesumError
from lanesum.rpc import controller as rpc
from lanesum.rpc.json_grpc import NoAnswerError, ReplyStream
from lanesum.transport.errors import (
    AggregationTimeoutError,
    CertificationError,
    MismatchError,
    SessionClosedError,
    WorkerGoneError,
)
from lanesum.transport.stats import FailedChunk, TransportStats
from lanesum.transport.ticket import JobTicket

DEFAULT_KEEP_ALIVE_S = 5.0  # far below a usual lease
#: Time without a packet after which a wait for workers that are gone ends. A worker that has left may have sent all
#: that is needed, so lost packets get the time for a retransmission.
PATIENCE_S = {rpc.FAILED: 0.25, rpc.LOST: 0.25, rpc.LEFT: 1.0}
_RETRY_S = 0.1
_START_S = 2.0
_REPORT_TIMEOUT_S = 5.0
_COUNTS_TIMEOUT_S = 1.0  # meanwhile no state is read
_STOP_TIMEOUT_S = 1.0
_CLOCK_CALLS, _CLOCK_ERROR_S = 8, 5e-4  # calls at most, of which the fastest counts, until its error is at most this
_RANDOM = secrets.token_hex(8)
# Errors that all workers raise by themselves, or because of another worker.
_NOT_REPORTED = (AggregationTimeoutError, MismatchError, SessionClosedError, WorkerGoneError)


class Listener(Protocol):
    """Transport of a session."""

    @property
    def stats(self) -> TransportStats: ...
    @property
    def failed_chunks(self) -> list[FailedChunk]: ...

    def interrupt(self, error: LanesumError | None, patience_s: float) -> None:
        """Take the error that ends a job, and how long a wait for packets may still take without progress.

        None: a worker that was lost is back.
        """


class SupersededError(rpc.ControllerError):
    """The ticket is void: the job has begun anew, or was removed."""


class AlteredSwitchError(SupersededError):
    """Another client has changed entries of the job at a switch: sums since the named time may be wrong."""


def claimant() -> str:
    """Return text that identifies this process; forks get another one."""
    return f"{_RANDOM}-{os.getpid()}"


def call(controller: str, method: str, ticket: JobTicket, timeout_s: float, **more: Any) -> dict[str, Any]:
    """Call the controller about the incarnation and the worker of ``ticket``. Raises ControllerError."""
    return rpc.call(controller, method, {**_about(ticket), **more}, timeout_s)


def _about(ticket: JobTicket) -> dict[str, Any]:
    return {"job": ticket.job, "tag": ticket.tag, "worker": ticket.worker}


def ending(ticket: JobTicket, answer: dict[str, Any]) -> tuple[LanesumError, float] | None:
    """Return the error for a job that cannot go on, by the controller's ``answer``, and the patience; else None."""
    if answer.get("state") in rpc.OVER:
        why = rpc.one_line(answer.get("why") or "the job has begun a new incarnation, or was removed")
        what = f"The ticket of worker {ticket.worker} of job {ticket.label} is void: {why}."
        if answer.get("altered") is True:
            how = (
                "Continue from a checkpoint before that time. Let no other client write to switches (docs/security.md)."
            )
            return AlteredSwitchError(what, how), PATIENCE_S[rpc.FAILED]
        how = "Join again. A second model needs a job of its own: attach(model, job=NAME, admit=True)."
        return SupersededError(what, how), PATIENCE_S[rpc.FAILED]
    gone: dict[int, WorkerGoneError] = {}
    for one in answer.get("gone") or ():
        worker, kind = one["worker"], one["kind"]
        if worker in range(ticket.workers) and worker != ticket.worker and kind in rpc.GONE_KINDS:
            host, cause, job = (rpc.one_line(text) for text in (one["host"], one["cause"], answer["job"]))
            gone.setdefault(worker, WorkerGoneError(job, worker, host, kind, cause))
    if ticket.workers - len(gone) >= (ticket.quorum or ticket.workers):
        return None
    first = min(gone.values(), key=lambda error: rpc.GONE_KINDS.index(error.kind))
    return first, PATIENCE_S[first.kind]


def _is_loss(ending_before: tuple[LanesumError, float] | None) -> bool:
    """Return True for the error about a lost worker, which may come back."""
    error = None if ending_before is None else ending_before[0]
    return isinstance(error, WorkerGoneError) and error.kind == rpc.LOST


class KeepAlive(Serving):
    """Background thread that keeps a job alive, and tells its session of workers that are gone.

    Use as a context manager, or call ``start`` and ``close``. A stream that ends is opened again, so a restart of the
    controller disturbs no job.

    Args:
        controller: ``host:port`` of the controller.
        interval_s: time between two calls where the controller answers with no stream, in seconds.
    """

    def __init__(self, ticket: JobTicket, controller: str, interval_s: float = DEFAULT_KEEP_ALIVE_S) -> None:
        self._ticket = ticket
        self._controller = controller
        self._interval_s = interval_s
        self._process = os.getpid()
        self._over = threading.Event()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._listener: Callable[[], Listener | None] = lambda: None  # a weak reference
        self._phases: Any = None  # ``Phases`` of the session
        self._reporting = threading.Lock()  # held by the thread that reports failed chunks
        self._ending: tuple[LanesumError, float] | None = None
        self._reported = False
        self._stream: ReplyStream | None = None
        self._connected = False  # as far as is known
        self._answered = threading.Event()  # the first stream is open, or has failed
        self._thread = threading.Thread(target=self._run, name="lanesum-keep-alive", daemon=True)

    @classmethod
    def of(cls, ticket: JobTicket) -> KeepAlive | None:
        """Return the keep-alive of ``ticket`` in this process, a new one if needed; None without a controller."""
        for one in list(_open):
            if one._ticket == ticket and not one._stop.is_set():
                return one
        if not ticket.controller:
            return None
        made = cls(ticket, ticket.controller)
        made.start()
        return made

    @property
    def superseded(self) -> bool:
        """The job has a new incarnation, or was removed: the ticket is void."""
        return self._over.is_set()

    def check(self, timeout_s: float = rpc.DEFAULT_TIMEOUT_S) -> str:
        """Return ``waiting``, ``ready``, ``mismatch``, ``superseded`` or ``removed``. Raises ControllerError."""
        answer = call(self._controller, rpc.KEEPALIVE, self._ticket, timeout_s)
        self._take(answer)
        return str(answer["state"])

    def are_alive(self, workers: Collection[int]) -> bool:
        """Return True if the controller answers now, and says that these workers live."""
        try:
            answer = call(self._controller, rpc.KEEPALIVE, self._ticket, _REPORT_TIMEOUT_S, about=sorted(workers))
        except LanesumError:
            return False
        return answer.get("alive") is True

    def address_of(self, worker: int) -> str:
        """Return the host and the source address of a worker, as the controller has them; empty without an answer."""
        try:
            answer = call(self._controller, rpc.KEEPALIVE, self._ticket, _REPORT_TIMEOUT_S, about=[worker])
        except LanesumError:
            return ""
        return rpc.one_line(answer.get("addresses", {}).get(str(worker), ""))

    def listen(self, listener: Listener, phases: Any = None) -> None:
        """Interrupt ``listener`` once the job cannot go on, at once if known; report counts and ``phases`` when asked.

        Only a weak reference is kept, so a session that is never closed can be collected.
        """
        with self._lock:
            self._phases = phases
            self._listener, ending = weakref.ref(listener), self._ending
        if ending is not None:
            listener.interrupt(*ending)

    def report_failure(self, error: BaseException) -> None:
        """Tell the other workers that this one has failed, once, if it is the cause."""
        if isinstance(error, CertificationError):
            self._report_counts(self._stream)
        if not isinstance(error, _NOT_REPORTED):
            self._report(rpc.FAILED, f"{type(error).__name__}: {error}")

    def _report(self, kind: str, cause: str) -> None:
        with self._lock:
            if self._reported or (self._ending and kind == rpc.FAILED) or self._process != os.getpid():
                return
            self._reported = True
        # Without an answer the controller finds out by the end of the stream.
        with contextlib.suppress(LanesumError, RuntimeError):
            more = {"claimant": claimant(), "kind": kind, "cause": rpc.one_line(cause)}
            call(self._controller, rpc.REPORT, self._ticket, _REPORT_TIMEOUT_S, **more)

    def report_failed_chunks(self) -> None:
        """Send the counts of the session with its failed chunks, in the background."""
        if self._reporting.acquire(blocking=False):
            threading.Thread(target=self._report_in_background, daemon=True).start()

    def _report_in_background(self) -> None:
        with contextlib.ExitStack() as at_end:
            at_end.callback(self._reporting.release)
            known = 0
            while (listener := self._listener()) and (number := listener.failed_chunks[-1].number) != known:
                known = number
                self._report_counts(self._stream)

    def _report_counts(self, stream: ReplyStream | None) -> None:
        """Send the counts of the session, for ``lanesum top`` and metrics of the controller, and its failed chunks."""
        listener = self._listener()
        if listener is not None and stream is not None:
            with contextlib.suppress(LanesumError, ValueError):
                self._tell(stream, counts=listener.stats.report(), failed_chunks=listener.failed_chunks)

    def _tell(self, stream: ReplyStream, **more: Any) -> dict[str, Any]:
        """Send more about this worker; return the state of the job. Errors as of ``ReplyStream.call``."""
        message = {**_about(self._ticket), "claimant": claimant(), **more}
        return stream.call(rpc.KEEPALIVE, message, _COUNTS_TIMEOUT_S)

    def _trace(self, stream: ReplyStream, seconds: float) -> None:
        """Record the spans of the session for some seconds, and send them in microseconds of the controller's time."""
        phases = self._phases
        if phases is None or phases.spans is not None or not 0 < seconds <= rpc.MAX_TRACE_S:
            return
        phases.spans = recorded = collections.deque[Any](maxlen=rpc.MAX_SPANS)
        self._stop.wait(seconds)
        phases.spans = None
        with contextlib.suppress(LanesumError, KeyError, TypeError, ValueError):
            clocks = [self._compare_clocks(stream)]
            while min(clocks)[0] > _CLOCK_ERROR_S and len(clocks) < _CLOCK_CALLS:
                clocks.append(self._compare_clocks(stream))
            error_s, wall_s, offset_s = min(clocks)
            names, begins, ends, steps = zip(*recorded, strict=True) if recorded else ((),) * 4
            times = (np.rint(1e6 * (np.array(one) + offset_s)).astype(np.int64).tolist() for one in (begins, ends))
            spans = list(zip(names, *times, strict=True))
            clock = {"error_us": round(1e6 * error_s), "offset_us": round(1e6 * wall_s)}
            self._tell(stream, trace={"spans": spans, "steps": steps, **clock})

    def _compare_clocks(self, stream: ReplyStream) -> tuple[float, float, float]:
        """Return half the round trip of a call, and the controller's time less ``time.time`` and ``perf_counter``."""
        begin = time.perf_counter()
        now, wall = self._tell(stream, clock=True)["time_s"], time.time()
        half = (time.perf_counter() - begin) / 2
        return half, now - wall + half, now - begin - half

    def _take(self, answer: dict[str, Any]) -> None:
        if answer.get("state") in rpc.OVER:
            self._over.set()
        try:
            ending_now = ending(self._ticket, answer)
        except (TypeError, KeyError):  # no controller answers so
            return
        with self._lock:
            is_withdrawn = ending_now is None and _is_loss(self._ending)
            if self._stop.is_set() or (ending_now is None and not is_withdrawn):
                return
            self._ending, listener = ending_now, self._listener()
        if listener is not None:
            listener.interrupt(*(ending_now or (None, math.inf)))

    def _run(self) -> None:
        while not self._stop.is_set() and not self.superseded:
            pause_s = _RETRY_S
            try:
                self._watch()
            except NoAnswerError:
                # The call waits until the controller is up. A stream to a host that does not answer would wait longer.
                while not self._stop.is_set() and not self._is_reached():
                    self._stop.wait(_RETRY_S)
            except LanesumError:
                pause_s = self._interval_s
                with contextlib.suppress(LanesumError):
                    self.check(self._interval_s)
            self._stop.wait(pause_s)

    def _is_reached(self) -> bool:
        """Return True if a controller answers a call."""
        try:
            self.check(self._interval_s)
        except rpc.UnreachableError:
            return False
        except LanesumError:
            pass
        return True

    def _watch(self) -> None:
        message = {**_about(self._ticket), "claimant": claimant()}
        with ReplyStream(rpc.leader(self._controller), rpc.SERVICE, rpc.WATCH, message) as stream:
            self._stream = stream
            if not self._stop.is_set():
                self._connected = True
                try:
                    for answer in stream:
                        self._answered.set()
                        self._take(answer)
                        if answer.get("asked") is True:
                            self._report_counts(stream)
                        if type(seconds := answer.get("trace_s")) is float:
                            threading.Thread(target=self._trace, args=(stream, seconds), daemon=True).start()
                finally:
                    self._connected = False
                    self._answered.set()

    def start(self) -> None:
        """Start the thread; wait at most two seconds for its stream, by which the end of this process shows."""
        if not _hooks:
            _hooks.append(sys.excepthook)
            sys.excepthook = _report_unhandled
            atexit.register(_report_exit)
        _open.add(self)
        self._thread.start()
        self._answered.wait(_START_S)

    def abandon(self) -> None:
        """Stop without a report and without a wait, for a session that was never closed."""
        self._stop.set()
        if self._stream is not None and self._process == os.getpid():  # a fork has no threads that gRPC would wait for
            self._stream.close()

    def close(self, *, why: str = "it has closed its session") -> None:
        """Stop the thread, and tell the others ``why``; takes at most six seconds. Idempotent."""
        if self._connected and not self._stop.is_set():
            self._report(rpc.LEFT, why)
        self.abandon()
        # The interpreter should not end while the thread is in a call.
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_STOP_TIMEOUT_S)


_open: weakref.WeakSet[KeepAlive] = weakref.WeakSet()
_hooks: list[Callable[..., object]] = []  # the hook that was installed before


def _report_unhandled(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """Report an exception that ends the script; then it is printed as usual."""
    for one in list(_open):
        if not one._stop.is_set():
            one.report_failure(error)
    _hooks[0](kind, error, trace)


def _report_exit() -> None:
    for one in list(_open):
        if one._process == os.getpid():
            one.close(why="its process has ended")
