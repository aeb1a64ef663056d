# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Workers with and without a GPU in one job: the same bits, and no unnecessary waits for the GPU."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import lanesum.torch  # noqa: E402
from lanesum import codecs  # noqa: E402
from lanesum.codecs.sparse import reference  # noqa: E402
from lanesum.codecs.sparse.plan import cells_for  # noqa: E402
from lanesum.gpu.staging import CudaStaging, staging_for  # noqa: E402
from lanesum.session import Session  # noqa: E402
from lanesum.transport.errors import AggregationTimeoutError  # noqa: E402
from lanesum_lab.codec_simulation import simulate  # noqa: E402
from tests.host.torch.buckets import FakeBucket, parameters, take_step  # noqa: E402
from tests.host.torch.ranks import served_job  # noqa: E402

#: ``thc`` with these vectors: blocks of several widths.
WIDTHS = "thc error=0.02"
CODECS = ["fixed", "thc", WIDTHS, "sketch", "topk", "bf16"]


def vector(worker: int, step: int, size: int) -> np.ndarray:
    """Return a vector with a tenth of nonzero values, in runs; the magnitude differs between steps."""
    generator = np.random.default_rng([worker, step])
    there = np.repeat(np.random.default_rng(step).random(size // 50 + 1) < 0.1, 50)[:size]
    return (generator.standard_normal(size, np.float32) * there * 10.0**step).astype(np.float32)


def both(codec: str, work: Callable[[Session, bool], Any]) -> list[Any]:
    """Return the results of two workers, the first one with a GPU."""
    outcomes: list[Any] = [None, None]

    def one(ticket: Any) -> None:
        try:
            with Session(ticket, codec=codecs.get(codec, workers=2), deadline_s=200.0) as session:
                outcomes[ticket.worker] = work(session, ticket.worker == 0)
        except BaseException as error:  # handed to the test
            outcomes[ticket.worker] = error

    with served_job(2, codec) as tickets:
        threads = [threading.Thread(target=one, args=(ticket,)) for ticket in tickets]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    for error in sorted(errors, key=lambda error: isinstance(error, AggregationTimeoutError)):
        raise error  # the cause first; the other worker has timed out
    return outcomes


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [3000, 20001])
def test_sums_with_and_without_gpu_have_same_bits(codec: str, size: int, gpu: torch.device) -> None:
    def work(session: Session, on_gpu: bool) -> list[bytes]:
        sums = []
        for step in range(4):
            x: Any = vector(session.ticket.worker, step, size)
            result = session.all_reduce(torch.from_numpy(x).to(gpu) if on_gpu else x, name="t")
            # Used at once, in this thread's stream.
            assert not on_gpu or result.device.type == gpu.type
            sums.append((result * 1).cpu().numpy().tobytes() if on_gpu else result.tobytes())
        given: list[Any] = [vector(session.ticket.worker, step, size) for step in range(4)]
        given = [torch.from_numpy(x).to(gpu) for x in given] if on_gpu else given
        pending = [session.all_reduce_async(x, name=f"p{step}", average=True) for step, x in enumerate(given)]
        results = [one.result() for one in reversed(pending)]
        return sums + [(one * 1).cpu().numpy().tobytes() if on_gpu else one.tobytes() for one in results]

    here, there = both(codec, work)
    assert here == there and len(set(here)) == len(here)
    if codec == WIDTHS:
        given = [vector(worker, 0, size) for worker in range(2)]
        assert len(simulate(codecs.get(codec, workers=2), given).rounds) > 2, "all blocks have one width"


@pytest.mark.parametrize("codec", ["thc", WIDTHS, "fixed", "sketch"])
def test_hook_on_gpu_has_bits_of_host(codec: str, gpu: torch.device) -> None:
    """Means and error feedback, over buckets that change, and with half precision."""
    if gpu.type == "cpu" and codec != "fixed":
        pytest.skip("Triton's interpreter runs in one thread at a time, and both workers would use it")

    def work(session: Session, on_gpu: bool) -> list[Any]:
        state = lanesum.torch.State(session, error_feedback=True)
        shown = parameters(5000, 300, 20000)
        found: list[Any] = []
        for step, sizes in enumerate([(5000, 300), (20000,), (5000, 300), (300, 20000), (5000,), (20000,)]):
            gradient = torch.from_numpy(vector(session.ticket.worker, step % 3, sum(sizes)))
            gradient = gradient.half() if step == 5 else gradient
            bucket = FakeBucket(gradient.to(gpu) if on_gpu else gradient, [p for p in shown if p.numel() in sizes])
            mean = lanesum.torch.hook(state, bucket).wait()
            found.append(mean.cpu().numpy().tobytes())
        take_step(shown)
        memory = state.state_dict()["memory"]
        assert all(one.device.type == "cpu" for one in memory.values()) and state.error_feedback is not None
        kept = {one.own.device.type for one in state.error_feedback._residuals.values()}
        assert kept == {gpu.type if on_gpu else "cpu"}
        state.load_state_dict(state.state_dict())
        gradient = torch.from_numpy(vector(9, 1, 5300))
        bucket = FakeBucket(gradient.to(gpu) if on_gpu else gradient, shown[:2])
        found.append(lanesum.torch.hook(state, bucket).wait().cpu().numpy().tobytes())
        state.close()
        return found

    here, there = both(codec, work)
    assert here == there


def test_busy_gpu_delays_neither_hook_nor_other_reductions(gpu: torch.device) -> None:
    """Neither the hook nor ``all_reduce_async`` waits, nor does an all-reduce of the host in flight."""
    if gpu.type != "cuda":
        pytest.skip("needs a GPU that can be kept busy")
    with served_job(1, "thc") as (ticket,), Session(ticket, codec="thc", deadline_s=200.0) as session:
        state = lanesum.torch.State(session)
        warm = FakeBucket(torch.ones(9000, device=gpu), parameters(9000))
        lanesum.torch.hook(state, warm).wait()
        torch.cuda.synchronize()
        early = torch.cuda.Event()
        torch.cuda._sleep(4_000_000_000)
        early.record()
        gradient = torch.full((9000,), 2.0, device=gpu)
        late = lanesum.torch.hook(state, FakeBucket(gradient, parameters(9000)))
        assert not early.query(), "the hook waited"
        torch.testing.assert_close(late.wait(), torch.full_like(gradient, 2.0), rtol=0.3, atol=0.3)
        state.close()
    with served_job(1, "fixed") as (ticket,), Session(ticket, codec="fixed", deadline_s=200.0) as session:
        session.all_reduce(torch.ones(7000, device=gpu))  # the first pinned memory may wait for the device
        host = session.all_reduce_async(np.ones(5000, np.float32))
        torch.cuda._sleep(4_000_000_000)
        early.record()
        pending = session.all_reduce_async(torch.ones(7000, device=gpu) * 3)
        assert host.result().sum() == 5000
        assert not pending.done() and not early.query(), "a call waited"
        assert float(pending.result().sum()) == 21000


def test_staging_copies_to_host_and_back(gpu: torch.device) -> None:
    own = staging_for(gpu)
    assert own is staging_for(torch.device(gpu.type)) and isinstance(own, CudaStaging) == (gpu.type == "cuda")
    made = torch.arange(100_000, device=gpu, dtype=torch.float64)
    own.wait_event(own.record_event(), made)
    with own.stream():
        pinned = own.empty_pinned(100_000, torch.float32)
        own.copy_to_host(made, pinned).synchronize()
        assert pinned.is_pinned() == (gpu.type == "cuda")
        back = own.copy_to_device(pinned.numpy())
    own.hand_over(back)
    assert bool((back == made).all()) and back.dtype == torch.float32


_ON_THE_SECOND = """
import threading
import torch
from lanesum.gpu.staging import staging_for

torch.cuda.set_device(1)
vector = torch.ones(1000, device="cuda")
own = staging_for(vector.device)
made = own.record_event()

def work():
    made.synchronize()
    made.query()
    own.wait_event(made, vector)
    with own.stream():
        pinned = own.empty_pinned(1000, torch.float32)
        own.copy_to_host(vector, pinned).synchronize()
        own.copy_to_device(pinned.numpy())

thread = threading.Thread(target=work)
thread.start()
thread.join()
print(torch._C._cuda_hasPrimaryContext(0), torch._C._cuda_hasPrimaryContext(1))
"""


def test_staging_of_second_gpu_leaves_first_unused(gpu: torch.device) -> None:
    """A thread that has not chosen a device would use the first one."""
    if gpu.type != "cuda" or torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    ran = subprocess.run([sys.executable, "-c", _ON_THE_SECOND], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "True"]


def test_sparse_loops_on_many_values_equal_reference(gpu: torch.device) -> None:
    """Programs add to the same cells concurrently, which the interpreter never does."""
    pytest.importorskip("triton", reason="needs Triton: pip install 'lanesum[gpu]'")
    from lanesum.codecs.sparse import device as loops

    size = 2_000_000 if gpu.type == "cuda" else 3_000
    for block in (1, 8, 1024):
        x = vector(0, 0, size)
        keys = np.empty(-(-size // block), np.uint32)
        count, largest = reference.nonzero_blocks(x, block, keys)
        keys, exponent, peak, seed = keys[:count].copy(), -24, 2**30, 77
        there = torch.from_numpy(x).to(gpu)
        found, magnitude = loops.nonzero_blocks(there, block)
        np.testing.assert_array_equal(found.cpu().numpy().view(np.uint32), keys)
        assert magnitude == largest
        integers = np.empty(count * block, np.uint32)
        reference.gather_integers(x, keys, block, exponent, peak, integers)
        cells = cells_for(count, "best")
        sketch = np.zeros(cells.count * block, np.uint32)
        reference.insert(integers, keys, block, seed, cells, sketch)
        made = loops.insert(there, found, block, exponent, peak, seed, cells)
        np.testing.assert_array_equal(made.cpu().numpy().view(np.uint32), sketch)
        order, left = loops.peeling_order(found, seed, cells)
        missing = np.empty_like(keys)
        of_host, number = reference.peeling_order(keys, seed, cells, missing)
        np.testing.assert_array_equal(left.cpu().numpy(), missing[:number])
        assert order.levels == len(of_host.levels)
        read = np.empty_like(integers)
        reference.peel(read, of_host, block, sketch)
        sums = loops.peel(order, block, made)
        np.testing.assert_array_equal(sums.cpu().numpy().view(np.uint32), read)
        values, expected = torch.zeros(size, device=gpu), np.zeros(size, np.float32)
        loops.scatter_floats(sums, found, block, exponent, 3, values)
        reference.scatter_floats(read, keys, block, exponent, 3, expected)
        np.testing.assert_array_equal(values.cpu().numpy(), expected)
