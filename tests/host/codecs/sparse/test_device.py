# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse codecs on vectors of a device: rounds, sums and residuals are those of the host."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton", reason="needs Triton: pip install 'lanesum[gpu]'")
from lanesum._internal.native import availability  # noqa: E402
from lanesum.codecs import Auto, CodecError, ErrorFeedback, Sketch, Union  # noqa: E402
from lanesum.codecs.sparse.plan import SparseMethod  # noqa: E402
from lanesum.gpu import staging  # noqa: E402
from lanesum.session import Session  # noqa: E402
from lanesum_lab.codec_simulation import simulate  # noqa: E402
from tests.host.torch.fake_device import FakeDevice  # noqa: E402
from tests.host.torch.ranks import served_job  # noqa: E402

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> FakeDevice:
    fake = FakeDevice()
    monkeypatch.setitem(staging._stagings, torch.device("cpu"), fake)
    return fake


def vectors(number: int, size: int, density: float, block: int, scale: float) -> list[np.ndarray]:
    """Return vectors of two workers that are nonzero in some blocks, a part of which they share."""
    made = []
    for worker in range(2):
        generator = np.random.default_rng([number, worker])
        there = np.repeat(generator.random(-(-size // block)) < density / 2, block)[:size]
        there |= np.repeat(np.random.default_rng(number).random(-(-size // block)) < density / 2, block)[:size]
        made.append((generator.normal(size=size) * scale * there).astype(np.float32))
    return made


# Density and scale of each round. The records of the earlier rounds are, in this order: none; right; right; of smaller
# values, so a round with another unit follows; of fewer values, so the cells are too few; of dense vectors, which are
# sent dense.
ROUNDS = [(0.02, 1.0), (0.02, 1.0), (0.02, 2.0), (0.02, 1e4), (0.06, 1.0), (1.8, 1.0), (1.8, 1.0), (0.0, 1.0)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "block", "size"), [(Sketch, 1, 5003), (Sketch, 8, 20001), (Union, 16, 9999), (Auto, None, 5000)]
)
def test_rounds_on_device_and_host_are_equal(kind: Any, block: int | None, size: int) -> None:
    """Uplink words, sums, residuals and the state of the codec have the same bits."""
    sent: list[Any] = []
    jobs = {where: [kind(workers=2, block=block) for _ in range(2)] for where in ("host", "device")}
    methods = set()
    for number, (density, scale) in enumerate(ROUNDS):
        made = vectors(number, size, density, block or 1, scale)
        for where, job in jobs.items():
            methods.add(job[0].choice("t", size).plan.method)
            handed: list[Any] = made if where == "host" else [torch.from_numpy(made[0].copy()), made[1]]
            went = simulate(job, handed, seed=7, round=number, tensor="t", keep_residual=True)
            of_first: list[Any] = [went.results[0].values, went.results[0].residual]
            assert all(isinstance(one, torch.Tensor) == (where == "device") for one in of_first)
            bits = [np.asarray(one).tobytes() for one in of_first]
            sent.append((bits, [words.tobytes() for words in went.aggregates], went.rounds, job[0].state_dict()))
            assert np.asarray(of_first[0]).tobytes() == went.results[1].values.tobytes()
        assert sent[-1] == sent[-2]
    assert methods >= {SparseMethod.UNION} | ({SparseMethod.SKETCH} if kind is not Union else set())
    assert SparseMethod.DENSE in methods or kind is Auto  # Auto sends a sketch of all blocks, in one round trip


@pytest.mark.parametrize("native", ["off", "auto"])
def test_sessions_with_and_without_device_have_same_sums(
    native: str, device: FakeDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over the network, with several all-reduces in flight, and rounds in pieces with the native extension."""
    if native == "auto" and availability().core is None:
        pytest.skip(availability().reason)
    monkeypatch.setenv("LANESUM_NATIVE", native)
    size, rounds = 6000, ROUNDS[:5]
    outcomes: list[Any] = [None, None]

    def work(ticket: Any) -> None:
        try:
            with Session(ticket, codec=ErrorFeedback(Sketch(workers=2, block=8)), deadline_s=200.0) as session:
                pending = []
                for number, (density, scale) in enumerate(rounds):
                    x: Any = vectors(number, size, density, 8, scale)[ticket.worker]
                    x = x if ticket.worker else torch.from_numpy(x)
                    pending.append(session.all_reduce_async(x, name="t"))
                outcomes[ticket.worker] = [one.result() for one in pending]
        except Exception as error:  # handed to the test
            outcomes[ticket.worker] = error

    with served_job(2, "sketch") as tickets:
        threads = [threading.Thread(target=work, args=(ticket,)) for ticket in tickets]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not any(isinstance(one, Exception) for one in outcomes), outcomes
    for here, there, (number, (density, scale)) in zip(*outcomes, enumerate(rounds), strict=True):
        assert isinstance(here, torch.Tensor) and isinstance(there, np.ndarray)
        assert here.numpy().tobytes() == there.tobytes()
        exact = np.sum(vectors(number, size, density, 8, scale), axis=0, dtype=np.float64)
        np.testing.assert_allclose(there, exact, atol=scale * 1e-5 + 1e-3)  # and what was left of larger ones
    assert device.threads_of("copy to host") and len(device.threads_of("synchronize")) >= len(
        device.threads_of("copy to host")
    )


def test_result_is_float32_whatever_default_type(device: FakeDevice) -> None:
    x = torch.from_numpy(vectors(3, 20000, 0.05, 8, 1.0)[0])
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        run = simulate(Union(workers=1, block=8), [x], tensor="t", keep_residual=True)
    finally:
        torch.set_default_dtype(before)
    assert device.threads_of("copy to host") and run.values.dtype == torch.float32
    torch.testing.assert_close(run.values, x, rtol=0, atol=1e-8)


def test_non_finite_value_is_named() -> None:
    x = torch.zeros(3000)
    x[77] = float("inf")
    with pytest.raises(CodecError, match="element 77 is inf"):
        simulate(Sketch(workers=1), [x], tensor="t")


@pytest.mark.parametrize("x", [torch.zeros(30, 30), torch.zeros(300, dtype=torch.float64)])
def test_tensors_of_other_types_are_refused(x: Any) -> None:
    with pytest.raises(CodecError, match=r"Expected a float32 tensor of one dimension, not torch.float"):
        simulate(Sketch(workers=1), [x])
    with pytest.raises(CodecError, match="sized for 1"):
        simulate(Sketch(workers=1), [torch.zeros(3)] * 2)
