# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""All-reduces of tensors: results are tensors with the bits of arrays, for the host and for a device."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch

from lanesum.codecs import ErrorFeedback, NotFiniteError, get, tensors
from lanesum.errors import ConfigurationError
from lanesum.gpu import staging
from lanesum.session import Session
from lanesum.torch import State, tensor_all_reduce
from lanesum_lab.codec_simulation import simulate
from tests.host.torch.device_codecs import AddsErrorFeedback, OnDevice, run
from tests.host.torch.fake_device import LOST, FakeDevice
from tests.host.torch.ranks import served_job


def vector(worker: int, size: int) -> torch.Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(worker))


@pytest.mark.parametrize("codec", ["thc", "fixed", "topk"])
def test_tensors_of_host_have_sums_of_arrays(codec: str) -> None:
    """One worker passes arrays, the other tensors, of every shape, one after another and concurrently."""
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


@pytest.mark.parametrize("codec", ["thc", "union", "auto"])
def test_codec_without_session_takes_tensors_of_host(codec: str) -> None:
    """Kernels for devices are not required, neither for a first all-reduce nor for one with error feedback."""
    kept: Any = {"thc": ErrorFeedback}.get(codec, lambda one: one)
    arrays, those = kept(get(codec, workers=1)), kept(get(codec, workers=1))
    for number in range(3):
        sparse = vector(number, 5000) * (vector(10 + number, 5000) > 2)
        options: Any = {"tensor": "t", "round": number}
        expected = simulate(arrays, [sparse.numpy()], **options).values
        found: Any = simulate(those, [sparse], **options).values  # type: ignore[list-item]
        assert type(found) is torch.Tensor and found.numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_tensors_of_other_floats_return_float32(dtype: torch.dtype) -> None:
    """The tensor is not contiguous either: every other column of a matrix."""
    numbers = torch.arange(-12, 12).reshape(4, 6).to(dtype)[:, ::2]
    with served_job(1, "fixed") as tickets:
        ((result,),) = run(tickets, [lambda session: [session.all_reduce(numbers)]], lambda: get("fixed", workers=1))
    assert result.dtype == torch.float32
    torch.testing.assert_close(result, numbers.to(torch.float32), rtol=1e-6, atol=1e-6)


def test_flat_float32_tensor_is_not_copied() -> None:
    one = torch.zeros(4, 5)
    assert tensors.flat(one).data_ptr() == one.data_ptr()


@pytest.mark.parametrize(("dtype", "copies"), [(torch.float32, 0), (torch.float64, 1)])
def test_result_is_decoded_into_the_tensor(dtype: torch.dtype, copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Autograd still finds that the tensor was changed."""
    copied = []

    def write(values: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
        copied.append(tensor)
        return original(values, tensor)

    original = tensor_all_reduce.write
    monkeypatch.setattr(tensor_all_reduce, "write", write)
    with served_job(1, "thc") as (ticket,), State(Session(ticket, codec="thc")) as state:
        tensor = vector(0, 5000).to(dtype)
        before = tensor.clone()
        assert state.all_reduce(tensor).wait() is tensor
        assert len(copied) == copies
        assert tensor._version == 1
        torch.testing.assert_close(tensor, before, rtol=0, atol=1)
        assert not torch.equal(tensor, before)


@pytest.mark.parametrize(
    ("tensor", "says"),
    [
        (torch.ones(3, dtype=torch.int32), "all_reduce takes floating-point tensors, not torch.int32"),
        (torch.ones(3, dtype=torch.bool), "not torch.bool"),
        (torch.ones(3, dtype=torch.complex64), "not torch.complex64"),
        (torch.eye(3).to_sparse(), r"all_reduce takes dense tensors, not torch.sparse_coo.*to_dense"),
        (torch.empty(1, device="meta").expand(2**31), r"on the meta device.*to_empty"),
    ],
    ids=["int32", "bool", "complex", "sparse", "meta"],
)
def test_tensors_not_dense_or_not_floats_are_refused(tensor: torch.Tensor, says: str) -> None:
    with served_job(1, "fixed") as (ticket,), Session(ticket, codec="fixed") as session:
        for call in (session.all_reduce, session.all_reduce_async):
            with pytest.raises(ConfigurationError, match=says):
                call(tensor)
        assert session.stats.rounds == 0
        assert session.all_reduce(np.ones(3, np.float32)).tolist() == [1, 1, 1], "the session continues"


@pytest.mark.parametrize("kind", ["staged", "kernels", "error feedback"])
def test_tensors_of_device_have_sums_of_arrays(kind: str, device: FakeDevice) -> None:
    """Words sent before their copy is complete would give wrong sums."""

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
    assert len(device.threads_of("copy to host")) == len(device.threads_of("synchronize")) == 7
    assert len(device.threads_of("wait event")) == len(device.threads_of("hand over")) == 7


def test_fake_device_copies_late() -> None:
    """Otherwise the tests with the fake device would prove nothing."""
    device = FakeDevice()
    pinned = device.empty_pinned(3, torch.float32)
    with device.stream():
        event = device.copy_to_host(torch.ones(3), pinned)
    assert not event.query() and pinned.view(torch.int32).tolist() == [LOST] * 3
    event.synchronize()
    assert event.query() and pinned.tolist() == [1, 1, 1]


def test_all_reduce_async_does_not_wait_for_device(device: FakeDevice) -> None:
    """Earlier all-reduces make progress, too, while the device computes the next tensor."""
    computed = threading.Event()
    with served_job(1, "fixed") as (ticket,), Session(ticket, codec=OnDevice(workers=1)) as session:
        first = session.all_reduce_async(np.arange(9, dtype=np.float32), codec="fixed")
        device.gates.append(computed)
        gradient = torch.zeros(300)
        late = session.all_reduce_async(gradient)
        assert first.result().tolist() == list(range(9)), "the earlier one completes"
        assert not late.done() and device.threads_of("synchronize") == []
        gradient.fill_(3)  # as the device would
        computed.set()
        assert late.result().tolist() == [3] * 300


def test_error_feedback_added_by_codec_has_same_bits(device: FakeDevice) -> None:
    """Checkpoints have arrays in any case."""

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
    for one, inner in (
        (work, AddsErrorFeedback(workers=1)),
        (work, OnDevice(workers=1)),
        (host, get("bf16", workers=1)),
    ):
        with served_job(1, "fixed") as tickets:
            seen += run(tickets, [one], lambda inner=inner: ErrorFeedback(inner))
    assert seen[0] == seen[1] == seen[2]


def test_error_feedback_for_other_codecs_is_refused(device: FakeDevice) -> None:
    with served_job(1, "fixed") as (ticket,), Session(ticket, codec="fixed") as session:
        for x in (np.ones(3, np.float32), torch.ones(3)):
            with pytest.raises(ConfigurationError, match="does not add error feedback"):
                session.all_reduce_async(x, error_feedback=torch.ones(3))
        kept = session.all_reduce_async(torch.ones(3), error_feedback=torch.ones(3), codec=AddsErrorFeedback(workers=1))
        assert kept.result().tolist() == [2, 2, 2]


def test_lanesum_gpu_off_disables_kernels(device: FakeDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    cuda, cpu, codec = torch.device("cuda", 0), torch.device("cpu"), OnDevice(workers=1)
    assert tensors.codec_accepts(codec, cuda) and tensors.codec_accepts(codec, cpu)
    assert not tensors.codec_accepts(get("fixed", workers=1), cuda)
    monkeypatch.setenv(staging.VARIABLE, "off")
    assert not tensors.codec_accepts(codec, cuda) and staging.needs_staging(cuda)
    monkeypatch.delenv(staging.VARIABLE)
    assert (
        tensors.codec_accepts(codec, cuda) and not tensors.codec_accepts(codec, cpu) and not staging.needs_staging(cpu)
    )
    monkeypatch.setenv(staging.VARIABLE, "on")
    with pytest.raises(ConfigurationError, match="Invalid LANESUM_GPU='on': expected one of auto, off"):
        staging.mode()


@pytest.mark.parametrize("codec", ["fixed", "none"])  # without kernels for devices
@pytest.mark.parametrize("size", [3, 5000])
def test_not_a_number_on_device_is_the_result(device: FakeDevice, codec: str, size: int) -> None:
    with served_job(1, codec) as (ticket,), Session(ticket, codec=codec) as session:
        bad = torch.ones(size)
        bad[2] = float("nan")
        assert session.all_reduce(bad).isnan().all()
        assert session.all_reduce(torch.ones(size)).isfinite().all()
    with (
        served_job(1, codec) as (ticket,),
        Session(ticket, codec=codec, non_finite="raise") as session,
        pytest.raises(NotFiniteError, match="element 2 is nan"),
    ):
        session.all_reduce(bad)
