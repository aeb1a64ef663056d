# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sessions that are handed tensors: the same kind and the same bits back, of the host as of a device."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from lanesum.codecs import CodecContext, CodecError, ErrorFeedback, GatheredFloats, Result, Steps, get
from lanesum.errors import ConfigurationError
from lanesum.gpu import staging, tensors
from lanesum.session import Session
from lanesum.transport import JobTicket
from tests.host.torch.fake_device import LOST, FakeDevice
from tests.host.torch.torch_ranks import served_job

Work = Callable[[Session], Any]


def run(tickets: list[JobTicket], works: list[Work], codec: Callable[[], Any]) -> list[Any]:
    """Every worker's ``work`` in a thread of its own."""
    outcomes: list[Any] = [None] * len(works)

    def one(number: int) -> None:
        try:
            with Session(tickets[number], codec=codec(), deadline_s=10.0) as session:
                outcomes[number] = works[number](session)
        except BaseException as error:  # handed to the test
            outcomes[number] = error

    threads = [threading.Thread(target=one, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return outcomes


def vector(worker: int, size: int) -> torch.Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(worker))


class OnDevice(GatheredFloats):
    """``bf16``, but it looks at no vector that is not a tensor of a device."""

    def __init__(self, *, workers: int) -> None:
        super().__init__(workers=workers, format="bf16")
        self.traits = replace(self.traits, accepts_device_tensors=True)

    def all_reduce(self, x: Any, context: CodecContext) -> Steps:
        assert isinstance(x, torch.Tensor) and x.dtype == torch.float32 and x.dim() == 1 and x.is_contiguous()
        own = staging.staging_for(x.device)
        pinned = own.empty_pinned(x.numel(), torch.float32)
        with own.stream():
            copied = own.copy_to_host(x, pinned)
        copied.synchronize()
        result = yield from super().all_reduce(pinned.numpy(), context)
        with own.stream():
            residual = None if result.residual is None else own.copy_to_device(result.residual)
            return Result(own.copy_to_device(result.values), residual)  # type: ignore[arg-type]


class AddsMemory(OnDevice):
    """And adds the memory itself, which it overwrites."""

    def __init__(self, *, workers: int) -> None:
        super().__init__(workers=workers)
        self.traits = replace(self.traits, adds_memory=True)

    def all_reduce(self, x: Any, context: CodecContext) -> Steps:
        memory = context.memory
        result = yield from super().all_reduce(x if memory is None else x + memory, context)
        if memory is not None and result.residual is not None:
            result.residual = memory.copy_(result.residual)
        return result


@pytest.mark.parametrize("codec", ["thc", "fixed", "topk"])
def test_tensors_of_the_host_have_the_sums_of_arrays(codec: str) -> None:
    """One worker hands arrays in, the other one tensors; both of every shape, at once or one after the other."""
    shapes: list[tuple[int, ...]] = [(), (1,), (0,), (3, 5), (70, 100)]

    def of(worker: int) -> list[torch.Tensor]:
        return [vector(worker + 2 * number, int(np.prod(shape))).reshape(shape) for number, shape in enumerate(shapes)]

    def arrays(session: Session) -> list[Any]:
        at_once = [session.all_reduce(one.numpy()) for one in of(0)]
        pending = [session.all_reduce_async(one.numpy(), average=True) for one in of(0)]
        return at_once + [one.result() for one in pending]

    def tensors_(session: Session) -> list[Any]:
        at_once = [session.all_reduce(one) for one in of(1)]
        pending = [session.all_reduce_async(one.requires_grad_(), average=True) for one in of(1)]
        return at_once + [one.result() for one in pending]

    with served_job(2, codec) as tickets:
        first, second = run(tickets, [arrays, tensors_], lambda: get(codec, workers=2))
    for array, tensor, shape in zip(first, second, shapes * 2, strict=True):
        assert type(array) is np.ndarray and type(tensor) is torch.Tensor
        assert array.shape == tuple(tensor.shape) == shape and tensor.dtype == torch.float32
        assert array.tobytes() == tensor.numpy().tobytes()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_floating_point_types_come_back_as_float32(dtype: torch.dtype) -> None:
    """Every other column of a matrix: not contiguous either."""
    numbers = torch.arange(-12, 12).reshape(4, 6).to(dtype)[:, ::2]
    with served_job(1, "fixed") as tickets:
        ((result,),) = run(tickets, [lambda session: [session.all_reduce(numbers)]], lambda: get("fixed", workers=1))
    assert result.dtype == torch.float32
    torch.testing.assert_close(result, numbers.to(torch.float32), rtol=1e-6, atol=1e-6)


def test_float32_of_the_host_is_not_copied() -> None:
    one = torch.zeros(4, 5)
    assert tensors.flat(one).data_ptr() == one.data_ptr()


@pytest.mark.parametrize(
    ("tensor", "says"),
    [
        (torch.ones(3, dtype=torch.int32), "not torch.int32"),
        (torch.ones(3, dtype=torch.bool), "not torch.bool"),
        (torch.ones(3, dtype=torch.complex64), "not torch.complex64"),
        (torch.eye(3).to_sparse(), r"not torch.sparse_coo.*to_dense"),
        (torch.empty(1, device="meta").expand(2**31), r"on the meta device.*to_empty"),
    ],
    ids=["int32", "bool", "complex", "sparse", "meta"],
)
def test_what_is_no_dense_tensor_of_floats_is_refused(tensor: torch.Tensor, says: str) -> None:
    with served_job(1, "fixed") as (ticket,), Session(ticket, codec="fixed") as session:
        for call in (session.all_reduce, session.all_reduce_async, session.all_reduce_result):
            with pytest.raises(ConfigurationError, match=says):
                call(tensor)
        assert session.stats.packets_sent == 0
        assert session.all_reduce(np.ones(3, np.float32)).tolist() == [1, 1, 1], "the session goes on"


@pytest.mark.parametrize("kind", ["staged", "kernels", "error feedback"])
def test_tensors_of_a_device_have_the_sums_of_arrays(kind: str, device: FakeDevice) -> None:
    """Nothing is sent before its copy has happened, or the sums would be others."""

    def codec() -> Any:
        inner = get("bf16", workers=2) if kind == "staged" else OnDevice(workers=2)
        return ErrorFeedback(inner) if kind == "error feedback" else inner

    def on_device(session: Session) -> list[Any]:
        at_once = [session.all_reduce(vector(0, 5000).double(), name="a") for _ in range(2)]
        pending = [session.all_reduce_async(vector(number, 100), name=f"p{number}") for number in range(5)]
        return at_once + [one.result() for one in pending]

    def on_host(session: Session) -> list[Any]:
        bf16 = get("bf16", workers=2)
        session.codec = session.resolve_codec(ErrorFeedback(bf16) if kind == "error feedback" else bf16)
        at_once = [session.all_reduce(vector(1, 5000).numpy(), name="a") for _ in range(2)]
        pending = [session.all_reduce_async(vector(number, 100).numpy(), name=f"p{number}") for number in range(5)]
        return at_once + [one.result() for one in pending]

    with served_job(2, "fixed") as tickets:
        here, there = run(tickets, [on_device, on_host], codec)
    for tensor, array in zip(here, there, strict=True):
        assert type(tensor) is torch.Tensor and tensor.numpy().tobytes() == array.tobytes()
    assert len(device.of("copy to host")) == len(device.of("synchronize")) == 7
    assert len(device.of("wait event")) == len(device.of("hand over")) == 7


def test_the_copies_of_a_fake_device_happen_late() -> None:
    """Or the tests with it would show nothing."""
    device = FakeDevice()
    pinned = device.empty_pinned(3, torch.float32)
    with device.stream():
        mark = device.copy_to_host(torch.ones(3), pinned)
    assert not mark.query() and pinned.view(torch.int32).tolist() == [LOST] * 3
    mark.synchronize()
    assert mark.query() and pinned.tolist() == [1, 1, 1]


def test_nothing_is_waited_for_where_an_all_reduce_is_begun(device: FakeDevice) -> None:
    """Nor are those kept waiting that came before, while a device computes what comes next."""
    computed = threading.Event()
    with served_job(1, "fixed") as (ticket,), Session(ticket, codec=OnDevice(workers=1)) as session:
        first = session.all_reduce_async(np.arange(9, dtype=np.float32), codec="fixed")
        device.gates.append(computed)
        gradient = torch.zeros(300)
        late = session.all_reduce_async(gradient)
        assert first.result().tolist() == list(range(9)), "one before it is through"
        assert not late.done() and device.of("synchronize") == []
        gradient.fill_(3)  # what the device computes at last
        computed.set()
        assert late.result().tolist() == [3] * 300


def test_memory_is_added_by_codecs_that_do_so_themselves(device: FakeDevice) -> None:
    """With the bits of those for whom it is added, and a checkpoint has arrays in any case."""

    def work(session: Session) -> list[bytes]:
        sums = [session.all_reduce(vector(step, 3000) / 7, name="t").numpy().tobytes() for step in range(3)]
        codec: Any = session.codec
        kept = codec.memory("t")
        saved = codec.state_dict()
        assert type(saved["memory"]["t"]) is np.ndarray and kept.tobytes() == saved["memory"]["t"].tobytes()
        again = ErrorFeedback(type(codec.codec)(workers=1))
        again.load_state_dict(saved)
        last = session.all_reduce(vector(9, 3000), name="t", codec=again).numpy().tobytes()
        return [*sums, kept.tobytes(), last]

    def host(session: Session) -> list[bytes]:
        codec: Any = session.codec
        sums = [session.all_reduce((vector(step, 3000) / 7).numpy(), name="t").tobytes() for step in range(3)]
        kept = codec.memory("t")
        assert kept is not None and kept.any()
        return [*sums, kept.tobytes(), session.all_reduce(vector(9, 3000).numpy(), name="t").tobytes()]

    seen = []
    for one, inner in ((work, AddsMemory(workers=1)), (work, OnDevice(workers=1)), (host, get("bf16", workers=1))):
        with served_job(1, "fixed") as tickets:
            seen += run(tickets, [one], lambda inner=inner: ErrorFeedback(inner))
    assert seen[0] == seen[1] == seen[2]


def test_memory_that_nobody_would_add_is_refused(device: FakeDevice) -> None:
    with served_job(1, "fixed") as (ticket,), Session(ticket, codec="fixed") as session:
        for x in (np.ones(3, np.float32), torch.ones(3)):
            with pytest.raises(ConfigurationError, match="does not add error feedback"):
                session.all_reduce_result(x, error_feedback=torch.ones(3))
        kept = session.all_reduce_result(
            torch.ones(3), error_feedback=torch.ones(3), codec=AddsMemory(workers=1)
        ).values
        assert list(kept) == [2, 2, 2]


def test_kernels_can_be_turned_off(device: FakeDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    cuda, cpu, codec = torch.device("cuda", 0), torch.device("cpu"), OnDevice(workers=1)
    assert staging.codec_accepts(codec, cuda) and staging.codec_accepts(codec, cpu)
    assert not staging.codec_accepts(get("fixed", workers=1), cuda)
    monkeypatch.setenv(staging.VARIABLE, "off")
    assert not staging.codec_accepts(codec, cuda) and staging.needs_staging(cuda)
    monkeypatch.delenv(staging.VARIABLE)
    assert (
        staging.codec_accepts(codec, cuda) and not staging.codec_accepts(codec, cpu) and not staging.needs_staging(cpu)
    )
    monkeypatch.setenv(staging.VARIABLE, "on")
    with pytest.raises(ConfigurationError, match="Invalid LANESUM_GPU='on': expected one of auto, off"):
        staging.mode()


def test_not_a_number_on_a_device_is_named(device: FakeDevice) -> None:
    with served_job(1, "fixed") as (ticket,), Session(ticket, codec="fixed") as session:
        with pytest.raises(CodecError, match="element 2 is nan"):
            session.all_reduce(torch.tensor([1.0, 2.0, float("nan")]))
        assert session.stats.packets_sent == 0
