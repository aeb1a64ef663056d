# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The hook with gradients of a fake device: which threads wait for it, and where error feedback is."""

from __future__ import annotations

import functools
import io
import threading
from typing import Any

import pytest
import torch
from torch.nn.parallel import DistributedDataParallel

import lanesum.torch
from lanesum.codecs import Part, get
from lanesum.gpu import staging
from lanesum.session import Session
from lanesum.transport import JobTicket
from lanesum.transport.errors import SessionClosedError
from tests.host.torch.buckets import FakeBucket, parameters, take_step
from tests.host.torch.device_codecs import AddsErrorFeedback, OnDevice
from tests.host.torch.fake_device import FakeDevice
from tests.host.torch.ranks import Ranks, served_job
from tests.host.torch.test_ddp_hook import small_net


def state_with(ticket: JobTicket, codec: Any, **options: Any) -> lanesum.torch.State:
    return lanesum.torch.State(Session(ticket, codec=codec, deadline_s=200.0), **options)


@pytest.mark.parametrize("kind", ["fixed", "kernels"])
def test_hook_lets_only_own_threads_wait_for_device(kind: str, device: FakeDevice) -> None:
    """The second gradient is not computed yet when the hook returns. The first bucket does not wait for it."""
    here = threading.current_thread().name
    computed = threading.Event()
    codec = OnDevice(workers=1) if kind == "kernels" else "fixed"
    with served_job(1, "fixed") as (ticket,), state_with(ticket, codec, error_feedback=True) as state:
        first = lanesum.torch.hook(state, FakeBucket(torch.ones(500), parameters(500)))
        assert first.wait().tolist() == [1] * 500
        device.gates += [threading.Event(), computed]
        device.gates[0].set()
        earlier = lanesum.torch.hook(state, FakeBucket(torch.full((400,), 2.0), parameters(400)))
        gradient = torch.zeros(300)
        late = lanesum.torch.hook(state, FakeBucket(gradient, parameters(300)))
        assert earlier.wait().tolist() == [2] * 400
        assert not late.done()
        gradient.fill_(3)  # as the device would
        computed.set()
        assert late.wait().tolist() == [3] * 300
        assert late.value() is not gradient, "the mean was copied"
    assert here not in device.threads_of("synchronize")
    # The threads that wait for gradients and for copies.
    assert set(device.threads_of("synchronize")) == {"lanesum-job-7-worker-0-device", "lanesum-job-7-worker-0"}


def mean_of(state: lanesum.torch.State, shown: list[torch.nn.Parameter], step: int, *sizes: int) -> bytes:
    tensor = torch.randn(sum(sizes), generator=torch.Generator().manual_seed(step))
    bucket = FakeBucket(tensor, [one for one in shown if one.numel() in sizes])
    mean = bytes(lanesum.torch.hook(state, bucket).wait().numpy().tobytes())
    take_step(bucket.shown)
    return mean


@pytest.mark.parametrize("kind", [OnDevice, AddsErrorFeedback])
def test_error_feedback_on_device_has_checkpoints_on_host(kind: type[OnDevice], device: FakeDevice) -> None:
    """The bits are those of the host, over rebuilt buckets, and after a checkpoint was loaded."""
    seen = []
    for on_device in (True, False):
        with pytest.MonkeyPatch.context() as patch, served_job(1, "fixed") as (ticket,):
            if not on_device:
                patch.delenv(staging.VARIABLE)
            codec = kind(workers=1) if on_device else "bf16"
            shown, before = parameters(100, 200, 50), len(device.threads_of("copy to host"))
            with state_with(ticket, codec, error_feedback=True) as state:
                sent = functools.partial(mean_of, state, shown)
                means = [sent(0, 100, 200), sent(1, 100, 200), sent(2, 200, 50), sent(3, 100, 200, 50), sent(4, 50)]
                assert state.error_feedback is not None
                copied = len(device.threads_of("copy to host")) - before
                assert copied == (len(means) if on_device else 0), "only the gradients are copied"
                file = io.BytesIO()
                torch.save(state.state_dict(), file)
                saved = torch.load(io.BytesIO(file.getvalue()), weights_only=True)
                memory = {key: one.numpy().tobytes() for key, one in saved["memory"].items()}
                assert sorted(memory) == ["#0", "#1", "#2"] and any(any(one) for one in memory.values())
                state.load_state_dict(saved)
                means += [sent(5, 100, 200), sent(6, 50)]
                norms = state.error_feedback.norms()
            seen.append((means, memory, norms))
    assert seen[0] == seen[1]


def test_error_feedback_follows_parameters_between_buckets(device: FakeDevice) -> None:
    """Also where the parameters had the same places in buckets of the same length."""
    memory = lanesum.torch.ErrorFeedbackState()
    first, second = torch.arange(5.0), torch.arange(10.0, 15.0)
    memory.store(first, [Part("a", 0, 2), Part("b", 2, 5)])
    memory.store(second, [Part("c", 0, 2), Part("b", 2, 5)])
    parts = [Part("a", 0, 2), Part("b", 2, 5)]
    assert memory.add_to(torch.ones(5), parts).tolist() == [1, 2, 13, 14, 15]
    kept = memory.gather(torch.ones(5), parts)
    assert kept is not None and kept.tolist() == [0, 1, 12, 13, 14]
    assert memory.gather(torch.ones(5), [Part("c", 0, 2), Part("b", 2, 5)]) is second
    assert memory.gather(torch.ones(5), [Part("d", 0, 5)]) is None


def test_half_precision_gradients_on_device_return_half_precision(device: FakeDevice) -> None:
    with served_job(1, "fixed") as (ticket,), state_with(ticket, OnDevice(workers=1)) as state:
        mean = lanesum.torch.hook(state, FakeBucket(torch.arange(7).half(), parameters(7))).wait()
        assert mean.dtype == torch.float16 and mean.tolist() == list(range(7))


def test_policy_skips_non_finite_gradients_of_device(device: FakeDevice) -> None:
    """The policy keeps error feedback itself, on the host."""
    with served_job(1, "policy") as (ticket,):
        codec = get("policy", workers=1, not_finite="skip")
        with state_with(ticket, codec) as state:
            good = lanesum.torch.hook(state, FakeBucket(torch.ones(3), parameters(3)))
            bad = lanesum.torch.hook(state, FakeBucket(torch.tensor([1.0, float("nan")]), parameters(2)))
            assert good.wait().tolist() == [1] * 3 and state.error_feedback is None
            assert bad.wait().tolist() == [0, 0] and state.take_skipped() == "#1"


def test_buckets_of_host_and_device_keep_order(device: FakeDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bucket of the host is not summed before an earlier one of the device: all workers need the same order."""
    computed = threading.Event()
    device.gates.append(computed)
    with served_job(1, "fixed") as (ticket,), state_with(ticket, "fixed") as state:
        late = lanesum.torch.hook(state, FakeBucket(torch.ones(3), parameters(3)))
        monkeypatch.setattr("lanesum.torch.tensor_all_reduce.needs_staging", lambda device: False)
        after = lanesum.torch.hook(state, FakeBucket(torch.ones(4), parameters(4)))
        assert not after.done() and state.stats.buckets == 0
        computed.set()
        assert late.wait().tolist() == [1] * 3 and after.wait().tolist() == [1] * 4


def test_close_completes_buckets_of_device(device: FakeDevice) -> None:
    """As on the host, a bucket that cannot complete gets an error."""
    with served_job(2, "fixed", absent=(1,)) as (ticket,):
        state = state_with(ticket, "fixed")
        future = lanesum.torch.hook(state, FakeBucket(torch.ones(3), parameters(3)))
        state.close()
        with pytest.raises(SessionClosedError):
            future.wait()
        names = {one.name for one in threading.enumerate()}
        assert "lanesum-job-7-worker-0" not in names


def trained(ticket: JobTicket, on_device: bool, codec: str, views: bool) -> tuple[list[bytes], bool]:
    """Run three steps of DDP with the fake device. ``views``: gradients are parts of buckets."""
    with pytest.MonkeyPatch.context() as patch:
        fake = FakeDevice()
        if on_device:
            patch.setenv(staging.VARIABLE, "interpret")
            patch.setitem(staging._stagings, torch.device("cpu"), fake)
        model = DistributedDataParallel(small_net(), bucket_cap_mb=0.006, gradient_as_bucket_view=views)
        name = threading.current_thread().name
        with state_with(ticket, get(codec, workers=2), model=model, error_feedback=True) as state:
            model.register_comm_hook(state, lanesum.torch.hook)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for step in range(3):
                optimizer.zero_grad()
                generator = torch.Generator().manual_seed(10 * step + ticket.worker)
                model(torch.randn(16, 32, generator=generator)).square().mean().backward()
                optimizer.step()
        weights = [one.detach().numpy().tobytes() for one in model.parameters()]
        return weights, name in fake.threads_of("synchronize")


def test_ddp_on_device_and_host_has_same_weights(ranks: Ranks) -> None:
    """Only one of the two ranks has a device."""
    seen = []
    for on_device, views in ((False, False), (True, False), (True, True)):
        with served_job(2, "thc-paper") as tickets:
            outcomes = ranks.run(_rank, tickets, on_device, views)
        assert not any(waited for _, waited in outcomes)
        seen += [weights for weights, _ in outcomes]
    assert all(weights == seen[0] for weights in seen)


def _rank(ticket: JobTicket, on_device: bool, views: bool) -> tuple[list[bytes], bool]:
    return trained(ticket, on_device and ticket.worker == 0, "thc-paper", views)
