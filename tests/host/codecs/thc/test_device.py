# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""thc on tensors of a device: words, values and residuals have the bits of the NumPy loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("triton", reason="needs Triton: pip install 'lanesum[gpu]'")

from lanesum import codecs  # noqa: E402
from lanesum._internal.native import VARIABLE  # noqa: E402
from lanesum.codecs import THC, CodecContext, CodecError, ErrorFeedback  # noqa: E402
from lanesum.codecs.thc import device as device_thc  # noqa: E402
from lanesum_lab.codec_simulation import simulate  # noqa: E402
from tests.host.codecs.samples import (  # noqa: E402
    PACKINGS,
    Packing,
    check_alike,
    packed_as,
    sample,
    simulation_options,
    three_vectors,
)

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.fixture(autouse=True, scope="module")
def reference() -> Any:
    """Use the NumPy loops on the host."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "off")
        yield


def on_device(vectors: list[np.ndarray]) -> list[Any]:
    return [torch.from_numpy(vector) for vector in vectors]


@pytest.mark.long
@pytest.mark.parametrize("width", PACKINGS)
@pytest.mark.parametrize(("block", "size"), [(4096, 4096 + 100), (64, 129), (32, 33), (128, 33)])
def test_every_packing_and_tail_equals_host(width: Packing, block: int, size: int) -> None:
    codec = packed_as(width, workers=3, block=block)
    vectors = [sample(size, worker) * np.float32(3.0**worker) for worker in range(3)]
    options: dict[str, Any] = {"seed": 2**63 + 5, "round": 2**31 + 9, "keep_residual": True}
    expected = simulate(codec, vectors, **options)
    found = simulate(codec, on_device(vectors), **options)
    assert all(isinstance(one.values, torch.Tensor) for one in found.results)
    check_alike(found, expected)


@pytest.mark.long
@pytest.mark.parametrize("workers", [1, 8, 12])
def test_every_grid_beside_workers_without_device_equals_host(workers: int) -> None:
    codec = THC(workers=workers, block=256)
    vectors = [sample(256, worker) for worker in range(workers)]
    expected = simulate(codec, vectors, seed=workers, keep_residual=True)
    mixed = [vector if worker % 2 else torch.from_numpy(vector) for worker, vector in enumerate(vectors)]
    check_alike(simulate(codec, mixed, seed=workers, keep_residual=True), expected)


@pytest.mark.long
@pytest.mark.parametrize("codec", ["thc block=64", "thc error=0.05"])
@pytest.mark.parametrize("adaptive", [(True, True), (True, False), (False, True)])
def test_gradients_of_adaptive_optimizers_equal_host(codec: str, adaptive: tuple[bool, bool]) -> None:
    """Also on a device that expected another optimizer."""
    own, vectors = codecs.get(codec, workers=2), [sample(300, worker) for worker in range(2)]
    options: dict[str, Any] = {"keep_residual": True, "adaptive": adaptive}
    check_alike(simulate(own, on_device(vectors), **options), simulate(own, vectors, **options))


@pytest.mark.long
@pytest.mark.parametrize("block", [8192, 1 << 14])
def test_large_blocks_equal_host(block: int) -> None:
    codec = THC(workers=2, block=block)
    vectors = [sample(block + 4097, worker) for worker in range(2)]
    check_alike(simulate(codec, on_device(vectors), keep_residual=True), simulate(codec, vectors, keep_residual=True))


@pytest.mark.parametrize("hip", [None, "6.4"])
def test_launches_of_every_block_fit_multiprocessor(hip: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "hip", hip)
    for block in (2**power for power in range(5, 15)):
        launches = device_thc.Launches(THC(workers=4, block=block).coder)
        for constants in (launches.encode, launches.decode):
            # The hardware allots registers to threads by 8. Only NVIDIA's compiler takes their number.
            registers = -(-constants.get("maxnreg", 0) // 8) * 8
            assert constants["num_warps"] * 32 * registers <= 65536
            assert ("maxnreg" in constants) == (hip is None)
    usual = device_thc.Launches(THC(workers=4).coder)
    assert (usual.encode["num_warps"], usual.decode["num_warps"]) == (2, 1)


def test_blocks_too_large_for_kernels_use_host() -> None:
    codec = THC(workers=2, block=1 << 15)
    vectors = [sample(100, worker) for worker in range(2)]
    found = simulate(ErrorFeedback(codec), on_device(vectors), tensor="w")
    check_alike(found, simulate(ErrorFeedback(codec), vectors, tensor="w"))
    assert isinstance(found.results[1].values, torch.Tensor)


@pytest.mark.long
@settings(max_examples=6, deadline=None)
@given(st.sampled_from(PACKINGS), st.sampled_from([32, 64, 128]), three_vectors(140), simulation_options)
def test_any_values_and_quorums_equal_host(
    width: Packing, block: int, vectors: list[np.ndarray], options: dict[str, Any]
) -> None:
    codec = packed_as(width, workers=3, block=block)
    expected = simulate(codec, vectors, **options)
    check_alike(simulate(codec, on_device(vectors), **options), expected)


def test_error_feedback_inside_kernels_equals_host() -> None:
    codec = THC(workers=2, block=128)
    here, there = ([ErrorFeedback(codec) for _ in range(2)] for _ in range(2))
    for round_ in range(3):
        vectors = [sample(150, 10 * round_ + worker) for worker in range(2)]
        options: dict[str, Any] = {"tensor": "w", "round": round_}
        check_alike(simulate(there, on_device(vectors), **options), simulate(here, vectors, **options))
    for mine, other in zip(there, here, strict=True):
        memory, expected = mine.memory("w"), other.memory("w")
        assert memory is not None and expected is not None and memory.tobytes() == expected.tobytes()
        assert mine.traits.accepts_device_tensors


@pytest.mark.long
def test_widths_with_error_feedback_equal_host() -> None:
    codec = codecs.get("thc", workers=2, error=0.02, block=256)
    vectors = [sample(800, worker) * np.exp(np.arange(800) // 256).astype(np.float32) for worker in range(2)]
    here, there = ([ErrorFeedback(codec) for _ in range(2)] for _ in range(2))
    for number in range(2):
        options: dict[str, Any] = {"tensor": "w", "round": number}
        found = simulate(there, on_device(vectors), **options)
        check_alike(found, simulate(here, vectors, **options))
        assert isinstance(found.values, torch.Tensor) and (len(found.rounds) > 2 or number)
    for mine, other in zip(there, here, strict=True):
        memory, kept = mine.memory("w"), other.memory("w")
        assert memory is not None and kept is not None and memory.tobytes() == kept.tobytes()


@pytest.mark.long
def test_rounds_in_pieces_equal_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_thc, "_PIECE", 256)
    codec = THC(workers=1, block=128)
    vector = sample(1000)
    expected = simulate(codec, [vector], keep_residual=True)
    steps = codec.all_reduce(
        torch.from_numpy(vector), CodecContext(workers=1, worker=0, keep_residual=True, complete=True, in_pieces=True)
    )
    from lanesum.codecs.base import Aggregate
    from lanesum.codecs.kernels.packing import lane_contribution

    norms = next(steps)
    codes = steps.send(Aggregate(norms.words.copy(), 1))
    pieces = codes.pieces
    assert pieces is not None and len(pieces) == 4 and codes.last()
    pieces.encode_all()
    sums = lane_contribution(codec.op, codes.words, codec.code_table)
    sums.flags.writeable = False  # as they come from the network
    pieces.decode_up_to(600 // 4, sums)
    assert pieces.decoded == 2
    with pytest.raises(StopIteration) as stopped:
        steps.send(Aggregate(sums, 1))
    result = stopped.value.value
    assert result.values.numpy().tobytes() == expected.values.tobytes()
    assert result.residual.numpy().tobytes() == expected.results[0].residual.tobytes()  # type: ignore[union-attr]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_non_finite_values_are_found_by_norms(bad: float) -> None:
    vector = sample(5000)
    vector[4500] = bad
    with pytest.raises(CodecError, match=r"'w': element 4500 is .*1 of 5000"):
        simulate(THC(workers=1), on_device([vector]), tensor="w")
    with pytest.raises(CodecError, match="more than float32 holds"):
        simulate(THC(workers=1), on_device([np.full(100, 1e38, dtype=np.float32)]), tensor="w")


@pytest.mark.parametrize(
    ("x", "feedback", "message"),
    [
        (lambda: torch.zeros(3, dtype=torch.float16), None, r"float32 tensor of one dimension, not torch\.float16"),
        (lambda: torch.zeros(3, 2), None, r"of shape \(3, 2\)"),
        (lambda: torch.zeros(()), None, r"of shape \(\)"),
        (lambda: torch.zeros(3), lambda: torch.zeros(4), r"error feedback of .w. has torch\.float32 of shape \(4,\)"),
    ],
)
def test_tensors_of_wrong_shape_or_type_are_refused(x: Any, feedback: Any, message: str) -> None:
    context = CodecContext(workers=1, worker=0, tensor="w", error_feedback=feedback and feedback())
    with pytest.raises(CodecError, match=message):
        next(THC(workers=1).all_reduce(x(), context))
    with pytest.raises(CodecError, match="sized for 1"):
        next(THC(workers=1).all_reduce(torch.zeros(3), CodecContext(workers=2, worker=0)))


def test_empty_and_strided_tensors_equal_host() -> None:
    empty = simulate(THC(workers=1), on_device([sample(0)]), keep_residual=True)
    assert empty.values.shape == (0,) and empty.results[0].residual is not None and not empty.rounds
    vector = sample(600)
    found = simulate(THC(workers=1), [torch.from_numpy(vector)[::2]])
    assert np.asarray(found.values).tobytes() == simulate(THC(workers=1), [vector[::2].copy()]).values.tobytes()
