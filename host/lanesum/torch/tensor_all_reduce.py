# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""All-reduce, reduce-scatter or all-gather of one tensor in the communication thread."""

from __future__ import annotations

import collections
import contextlib
import copy
import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import torch

from lanesum.codecs.base import Codec, Part, Result
from lanesum.codecs.sparse.rows import RowUnion
from lanesum.codecs.tensors import adds_error_feedback
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.gpu.staging import Staging, needs_staging, staging_for
from lanesum.session import AllReduce, Session
from lanesum.torch.codec_memory import CodecMemory
from lanesum.torch.error_feedback import ErrorFeedbackState
from lanesum.torch.hierarchy import HostGroup
from lanesum.transport.errors import SessionClosedError


def check_tensor(tensor: torch.Tensor, name: str) -> None:
    """Check that a tensor can be summed in place; it changes nothing, so later tensors can still be summed.

    Raises ConfigurationError: the tensor is not floating-point, neither dense nor COO, or on the meta device. Or its
    elements share memory (``expand``).
    """
    name = name or "this tensor"
    if not tensor.is_floating_point():
        raise ConfigurationError(
            f"lanesum sums floating-point tensors; {name} has {tensor.dtype}.",
            "Convert integers to float32, and keep complex parameters as real ones: torch.view_as_real.",
        )
    if tensor.layout not in (torch.strided, torch.sparse_coo):
        raise ConfigurationError(
            f"lanesum sums dense and COO tensors; {name} has {tensor.layout}.",
            "Convert it: to_dense() or to_sparse_coo().",
        )
    if tensor.is_meta:
        raise ConfigurationError(
            f"lanesum cannot sum {name}, because its device is meta.", "Move it to a device with to_empty()."
        )
    if tensor.layout is torch.strided and any(
        size > 1 and stride == 0 for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
    ):
        raise ConfigurationError(
            f"lanesum writes the sum to the tensor, but elements of {name} share memory: its strides are "
            f"{tensor.stride()}.",
            "Pass a copy without expanded dimensions: contiguous().",
        )


def closed_error() -> SessionClosedError:
    """Return the error of a tensor that comes after ``State.close``."""
    return SessionClosedError("This State is closed.", "Make a new State and register it again.")


def refusal(name: str, error: Exception, *, closed: bool) -> Exception:
    """Return the error of a tensor that comes after the ``error`` of an earlier one; after ``close`` if ``closed``."""
    if closed:
        return closed_error()
    cause = str(error) if isinstance(error, LanesumError) else f"{type(error).__name__}: {error}."
    what = f"lanesum did not sum {name or 'this tensor'}, because an earlier all-reduce has failed: {cause}"
    next_step = "Close the State on all ranks and join again."
    if not isinstance(error, LanesumError):
        return SessionClosedError(what, next_step)
    refused = copy.copy(error)  # with its attributes, such as the missing workers
    LanesumError.__init__(refused, what, next_step)
    return refused


@dataclass(slots=True, eq=False)
class TensorCommunication:
    """State that the all-reduces of tensors share. The communication thread alone changes it, before ``close``.

    Attributes:
        session: carries the all-reduces.
        host: ranks of this host that share the session of their leader.
        in_flight: all-reduces begun and not completed, in their order.
        error: the exception of the first that failed.
        skipped: parameter for which a policy skipped a tensor.
        buckets: number of completed all-reduces.
        elements: number of elements in them.
        busy_s: seconds in which at least one was in flight.
        busy_since: time of the last completion, or of the first begin after it.
        max_error: largest error that a codec has planned.
        errors: sum over the elements of the errors that codecs have estimated, and the number of these elements.
    """

    session: Session
    host: HostGroup | None
    in_flight: collections.deque[TensorAllReduce] = field(default_factory=collections.deque)
    error: Exception | None = None
    skipped: str | None = None
    buckets: int = 0
    elements: int = 0
    busy_s: float = 0.0
    busy_since: float = 0.0
    max_error: float = 0.0
    errors: tuple[float, int] = (0.0, 0)

    def note_error(self, result: Result, elements: int) -> None:
        """Note the errors that a codec has planned and estimated."""
        if result.max_error is not None:
            error = result.max_error if result.estimated_error is None else result.estimated_error
            self.max_error = max(self.max_error, result.max_error)
            self.errors = (self.errors[0] + error * elements, self.errors[1] + elements)

    def count(self, elements: int) -> None:
        """Count a completed all-reduce."""
        self.buckets += 1
        self.elements += elements
        now = time.perf_counter()
        self.busy_s += now - self.busy_since
        self.busy_since = now


@dataclass(eq=False)
class TensorAllReduce:
    """All-reduce of a tensor: begun in the communication thread, then completed in any case.

    With an ``output``, it is a reduce-scatter: the sum of this worker's shard is written there. If it ``gathers``, it
    is an all-gather, and the tensors of all workers are written there. Work on a device is launched in the stream of
    ``lanesum.gpu.staging``. Fields are arguments of :meth:`lanesum.torch.State.all_reduce`, the ``feedback`` to add,
    the ``memory`` of the codec, and the ``number`` of the call. One that ``stands_for`` a tensor which another backend
    sums compares its description, and is not counted.
    ``adaptive``: see :class:`lanesum.codecs.base.CodecContext`.

    Attributes:
        done: set once the future is complete.
        staged: the tensor is on a device, which may still compute it.
    """

    communication: TensorCommunication
    tensor: torch.Tensor
    future: torch.futures.Future[torch.Tensor]
    codec: Codec
    average: bool
    name: str
    parts: Sequence[Part]
    feedback: ErrorFeedbackState | None
    memory: CodecMemory | None
    number: int
    stands_for: str = ""
    adaptive: bool = False
    output: torch.Tensor | None = None
    gathers: bool = False

    def __post_init__(self) -> None:
        self.done = threading.Event()
        self.staged = needs_staging(self.tensor.device)
        self._staging = staging_for(self.tensor.device) if self.staged else Staging(self.tensor.device)
        self._computed = self._staging.record_event()
        self._rows: SparseRows | None = None
        self._all_reduce: AllReduce[torch.Tensor] | None = None
        self._result: Result | None = None
        self._shared = False
        self._scale = 1.0

    def wait_for_gradient(self) -> None:
        """Wait, in a thread of its own, until the device has computed the gradient."""
        # A device that has failed raises again when work is launched there, where the exception is handled.
        with contextlib.suppress(Exception):
            self._computed.synchronize()

    def begin(self) -> TensorAllReduce | None:
        """Submit the all-reduce; return None if that failed."""
        communication = self.communication
        if not communication.in_flight:
            communication.busy_since = time.perf_counter()
        try:
            if communication.error is not None:
                raise communication.error
            if self.feedback is not None:
                # Buckets of one backward pass have no parameter in common, but other callers' buckets may.
                keys = {part.key for part in self.parts}
                for other in communication.in_flight:
                    if not keys.isdisjoint(part.key for part in other.parts):
                        other._take_result()
            with self._staging.stream():
                self._submit()
        except Exception as error:
            self._fail(error)
            return None
        return self

    def _submit(self) -> None:
        codec, feedback, tensor = self.codec, self.feedback, self.tensor
        kind = "AVG" if self.average else "SUM"
        if self.output is not None:
            kind = f"reduce-scatter by {kind}"
        what = self.stands_for or f"{kind} of {tensor.dtype} with shape {tuple(tensor.shape)}"
        self._staging.wait_event(self._computed, tensor)
        session = self.communication.session
        if self.gathers:
            what = f"all-gather of {tensor.dtype} with shape {tuple(tensor.shape)} in call {self.number}"
            self._all_reduce = session.all_gather_async(tensor, description=what)
            return
        # The tensor is not used before the future is complete, so a float32 one is not copied.
        vector, added = tensor.detach().resolve_neg().to(torch.float32), None
        if vector.is_sparse:
            self._rows = SparseRows(vector, self.communication.session.ticket.workers)
            vector, codec = self._rows.values, self._rows.codec
        elif self.communication.host is not None:
            vector = self.communication.host.reduce(vector, self.average)
        if feedback is not None:
            vector = vector.reshape(-1)  # as the residuals
            self._scale = feedback.scale.value()
            if adds_error_feedback(codec, vector):
                added = feedback.gather(vector, self.parts, self._scale)
            else:
                vector = feedback.add_to(vector, self.parts, self._scale)
        if self.memory is not None:
            self.memory.begin(self.parts)
        begin = session.all_reduce_async if self.output is None else session.reduce_scatter_async
        self._all_reduce = begin(
            vector if self.output is None else vector.reshape(-1),
            codec=codec,
            average=self.average,
            name=self.name,
            keep_residual=feedback is not None and feedback.keeps,
            parts=() if self._rows is not None else self.parts,
            error_feedback=added,
            description=f"{what} in call {self.number}",
            elementwise=not self.parts and self._rows is None,
            in_place=not self.staged and self.output is None,
            adaptive=self.adaptive,
        )

    def wait(self) -> bool:
        """Wait for the all-reduce; return False if ``Session.wake`` interrupted the wait."""
        assert self._all_reduce is not None
        return self._all_reduce.wait()

    def complete(self) -> None:
        """Complete the future with the result or an exception."""
        try:
            # The future records the current stream when it completes, and DDP's stream waits for that one.
            with self._staging.stream():
                result = self._take_result()
                self._share(cast(torch.Tensor, result.values), result.skipped)
                summed = self._summed(result)
                self.communication.note_error(result, self.tensor.numel())
                # Counted before the future is complete, so that its caller finds the tensor in the counts.
                if not self.stands_for and not self.gathers:
                    self.communication.count(self.tensor.numel() if self._rows is None else self._rows.values.numel())
                self.future.set_result(summed)
        except Exception as error:
            self._fail(error)
        else:
            self.done.set()

    def _take_result(self) -> Result:
        """Return the result, and store its residual as error feedback, once."""
        if self._result is None:
            assert self._all_reduce is not None
            with self._staging.stream():
                self._result = self._all_reduce.codec_result()
            residual = self._result.residual
            self.communication.skipped = self._result.skipped or self.communication.skipped
            # Without a sum, the next step gets the residuals of the last one.
            if self.feedback is not None and not self._result.not_finite:
                self.feedback.store(cast(torch.Tensor | None, residual), self.parts, self._scale)
        return self._result

    def _share(self, values: torch.Tensor, note: Exception | str | None) -> None:
        """Pass a result or an error on to the other ranks of the host, where this rank leads one; once."""
        host = self.communication.host
        if host is not None and host.leads and not self._shared:
            self._shared = True
            host.share(values, note)

    def _summed(self, result: Result) -> torch.Tensor:
        values = cast(torch.Tensor, result.values)
        if self._rows is not None:
            return self._rows.tensor(values, not_finite=result.not_finite).to(self.tensor.dtype)
        tensor = self.tensor if self.output is None else self.output
        values = values.view(tensor.shape)
        if (values.data_ptr(), values.dtype, values.stride()) == (tensor.data_ptr(), tensor.dtype, tensor.stride()):
            if not tensor.is_inference():
                torch.autograd.graph.increment_version(tensor)  # the codec has written them
            return tensor
        # DDP accepts another tensor than the buffer, which saves a copy on a device.
        return values if self.staged and values.dtype == tensor.dtype else write(values, tensor)

    def _fail(self, error: Exception) -> None:
        # The first failure is the cause. Later ones, and those after close(), follow from it.
        communication = self.communication
        if communication.error is None:
            communication.error = error
            communication.session.report_failure(error)
        try:
            # PyTorch annotates the parameter as a result.
            self.future.set_exception(communication.error)  # type: ignore[arg-type]
        finally:
            self.done.set()
        with contextlib.suppress(Exception):  # the other ranks may be gone
            self._share(torch.zeros(self.tensor.numel(), device=self.tensor.device), communication.error)


def write(values: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    """Copy ``values`` to ``tensor`` and return it, in any thread: a tensor of inference mode may be written only there.

    Autograd does not record it, as with the collectives of other backends.
    """
    with torch.inference_mode(tensor.is_inference()), torch.no_grad():
        return tensor.copy_(values)


class SparseRows:
    """Rows of a COO tensor of float32, such as the gradient of ``nn.Embedding(sparse=True)``.

    Its sparse dimensions together number the rows, its dense ones form a row.

    Attributes:
        values: all rows, one after the other, on the device of the tensor.
        codec: sums them over the workers.
    """

    def __init__(self, tensor: torch.Tensor, workers: int) -> None:
        tensor = tensor.coalesce()
        self._shape = tensor.shape
        self._sparse, self._dense = tensor.shape[: tensor.sparse_dim()], tensor.shape[tensor.sparse_dim() :]
        self.values = tensor.values().reshape(-1)
        # The indices of a coalesced tensor are distinct and in the order of these numbers.
        rows = np.ravel_multi_index(tuple(tensor.indices().cpu().numpy()), self._sparse)
        self.codec = RowUnion(
            rows.astype(np.int64), num_rows=math.prod(self._sparse), width=math.prod(self._dense), workers=workers
        )

    def tensor(self, values: torch.Tensor, *, not_finite: bool = False) -> torch.Tensor:
        """Return the sum, a coalesced COO tensor of the rows of all workers; with ``not_finite``, of NaN."""
        indices = torch.from_numpy(np.stack(np.unravel_index(self.codec.union, self._sparse))).to(values.device)
        if not_finite:  # the values are as many as those of this worker
            values = values.new_full((self.codec.union.size * math.prod(self._dense),), math.nan)
        rows = values.view(self.codec.union.size, *self._dense)
        return torch.sparse_coo_tensor(indices, rows, self._shape, is_coalesced=True, check_invariants=False)
