# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Baseline codecs: error formulas, wire format and refused input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanesum import codecs
from lanesum.codecs import Aggregate, CodecContext, CodecError, ErrorFeedback, Round
from lanesum.errors import ConfigurationError
from lanesum_lab.codec_simulation import simulate
from lanesum_lab.codec_steps import (
    bits_to_words,
    field_words,
    pack_bits,
    pack_fields,
    unpack_bits,
    unpack_fields,
    words_to_bits,
)
from tests.host.codecs.samples import nmse
from tests.lab.baselines.vectors import NAMES, drawn

SIZE = 1 << 18
KINDS = ("Gaussian", "Laplace", "log-normal")


def error(name: str, x: np.ndarray, rounds: int = 1, **parameters: Any) -> float:
    """Of one worker, the mean over independent rounds."""
    codec = codecs.get(name, workers=1, **parameters)
    return float(np.mean([nmse(simulate(codec, [x], round=number).values, x) for number in range(rounds)]))


@pytest.mark.parametrize("kind", KINDS)
def test_errors_are_those_of_the_formulas(kind: str) -> None:
    x = drawn(kind, SIZE)
    wide = x.astype(np.float64)
    energy = float(np.sum(wide**2))
    for density in (0.1, 0.01):
        kept = np.sort(wide**2)[-int(np.ceil(SIZE * density)) :]
        assert error("topk", x, density=density) == pytest.approx(1 - kept.sum() / energy, rel=0.05)
        assert error("dgc", x, density=density) == pytest.approx(1 - kept.sum() / energy, rel=0.05)


# The results of the literature's formulas for normal, Laplace and log-normal vectors of 2**18 values.
MEASURED = [
    ("topk", {"density": 0.1}, (0.56, 0.40, 0.24)),
    ("topk", {"density": 0.01}, (0.91, 0.84, 0.64)),
    ("eden", {"bits": 1}, (0.571, 0.571, 0.571)),
    ("eden", {"bits": 2}, (0.133, 0.133, 0.133)),
    ("eden", {"bits": 3}, (0.0358, 0.0358, 0.0358)),
    ("eden", {}, (0.0096, 0.0096, 0.0096)),
    ("eden", {"bits": 5}, (0.0024, 0.0024, 0.0024)),
]


@pytest.mark.parametrize(("name", "parameters", "figures"), MEASURED)
def test_errors_are_those_that_others_measured(name: str, parameters: dict[str, Any], figures: Any) -> None:
    for kind, figure in zip(KINDS, figures, strict=True):
        if figure is not None:
            assert error(name, drawn(kind, SIZE, 1), **parameters) == pytest.approx(figure, rel=0.05)


def test_half_precision_is_that_of_numpy_and_pytorch() -> None:
    torch = pytest.importorskip("torch")
    x = np.concatenate((drawn("log-normal", 5000), np.float32([0, -0.0, 6e-8, 2**-25, 65504, -1e-9, 1 + 2**-8])))
    values = {name: simulate(codecs.get(name, workers=1), [x]).values for name in ("none", "fp16", "bf16")}
    assert values["none"].tobytes() == x.tobytes()
    assert (values["fp16"] == x.astype(np.float16)).all()
    assert (values["fp16"] == torch.from_numpy(x).half().float().numpy()).all()
    assert (values["bf16"] == torch.from_numpy(x).bfloat16().float().numpy()).all()
    for name, max_error in (("fp16", 2**-22 / 3), ("bf16", 2**-16 / 3)):
        assert max_error / 10 < error(name, drawn("Gaussian", SIZE)) < max_error


@pytest.mark.parametrize(("name", "large"), [("fp16", 65520), ("bf16", np.finfo(np.float32).max)])
def test_value_beyond_the_format_is_refused(name: str, large: float) -> None:
    with pytest.raises(CodecError, match=r"Element 2 of tensor 't', .* is more than (fp16|bf16) holds"):
        simulate(codecs.get(name, workers=1), [np.float32([1, 2, large])], tensor="t")


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_none_is_sum_in_order_of_workers(workers: int) -> None:
    vectors = [drawn("log-normal", 999, worker) for worker in range(workers)]
    truth = sum(x.astype(np.float64) for x in vectors)
    run = simulate(codecs.get("none", workers=workers), vectors, average=False, keep_residual=True)
    assert (run.values == truth.astype(np.float32)).all()
    assert all(one.residual is not None and not one.residual.any() for one in run.results)


def test_sum_beyond_float32_is_infinite() -> None:
    vectors = [np.full(5, 3e38, np.float32)] * 2
    assert (simulate(codecs.get("none", workers=2), vectors, average=False).values == np.inf).all()
    assert (simulate(codecs.get("none", workers=2), vectors).values == np.float32(3e38)).all()


@pytest.mark.parametrize("name", ["fp16", "bf16", "eden", "topk", "powersgd"])
def test_error_feedback_says_everything_in_the_end(name: str) -> None:
    vectors = [drawn("Gaussian", 400, worker) for worker in range(2)]
    job = [ErrorFeedback(codecs.get(name, workers=2, **({"density": 0.1} if name == "topk" else {}))) for _ in vectors]
    total, rounds = np.zeros(400), 300
    for number in range(rounds):
        total += simulate(job, vectors, tensor="t", round=number).values
    mean = np.mean(vectors, axis=0, dtype=np.float64)
    assert nmse(total / rounds, mean) < 0.02


def first(name: str, x: Any, workers: int = 2, **parameters: Any) -> Any:
    return next(
        codecs.get(name, workers=workers, **parameters).all_reduce(
            x, CodecContext(workers=workers, worker=0, tensor="t")
        )
    )


@pytest.mark.parametrize("name", [name for name in NAMES if name != "topk"])
def test_more_values_than_places_are_refused(name: str) -> None:
    with pytest.raises(CodecError, match=r"2,147,483,648 values are more .* Reduce the tensor in pieces"):
        first(name, np.broadcast_to(np.float32(1), 2**31))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("topk", "dgc")])
def test_sum_without_a_worker_is_refused(name: str) -> None:
    assert codecs.get(name, workers=2).traits.needs_all_workers
    if name == "powersgd":
        return  # its sums are those of fixed, which accepts any set of contributors
    steps = codecs.get(name, workers=2).all_reduce(drawn("Gaussian", 50), CodecContext(workers=2, worker=0))
    round_ = next(steps)
    assert isinstance(round_, Round)
    with pytest.raises(CodecError, match="Some of the 2 workers are not in a sum"):
        steps.send(Aggregate(round_.words, 1))


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("none", {"workers": 0}, "Invalid workers=0 for codec none: expected an integer from 1 to 1024"),
        ("fp16", {"workers": 1025}, "Invalid workers=1025 for codec fp16: expected an integer from 1 to 1024"),
        ("bf16", {"format": "fp8"}, "Invalid format='fp8': expected one of "),
        ("eden", {"bits": 0}, "Invalid bits=0 for codec eden: expected an integer from 1 to 8"),
        ("eden", {"bits": 9}, "Invalid bits=9 for codec eden: expected an integer from 1 to 8"),
        ("eden", {"block": 16}, "Invalid block=16 for codec eden: expected a power of two from "),
        ("eden", {"block": 96}, "Invalid block=96 for codec eden: expected a power of two from "),
        ("dgc", {"momentum": 1.0}, r"Invalid momentum=1\.0 for codec dgc: expected 0 <= momentum < 1"),
        ("dgc", {"warm_up": -1}, "Invalid warm_up=-1 for codec dgc: expected an integer from 0"),
        ("dgc", {"density": 0.0}, r"Invalid density=0\.0 for codec dgc: expected 0 < density <= 1"),
        ("dgc", {"density": -1.0}, r"Invalid density=-1\.0 for codec dgc"),
        ("dgc", {"codec": "thc"}, "Invalid codec='thc' for codec "),
        ("powersgd", {"rank": 0}, "Invalid rank=0 for codec powersgd: expected an integer from 1"),
    ],
)
def test_wrong_parameters_are_refused(name: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        codecs.get(name, **{"workers": 2, **parameters})


def test_eden_mean_of_rounds_has_no_bias() -> None:
    vectors = [np.float32(norm) * drawn("log-normal", 5000, worker) for worker, norm in enumerate((1, 0.5, 0.1))]
    mean = np.mean(vectors, axis=0, dtype=np.float64)
    codec = codecs.get("eden", workers=3, bits=2, block=1024)
    runs = [simulate(codec, vectors, round=number, alone=True).values for number in range(64)]
    spread = np.mean([nmse(values, mean) for values in runs])
    assert nmse(np.mean(runs, axis=0, dtype=np.float64), mean) < 1.1 * spread / len(runs)


def test_eden_zeros_and_one_value_are_exact() -> None:
    vectors = [np.zeros(5000, np.float32), np.float32([3e38] + 4999 * [0])]
    result = simulate(codecs.get("eden", workers=2), vectors, keep_residual=True)
    assert not result.values[1:].any() and result.values[0] == pytest.approx(1.5e38, rel=1e-6)
    assert all(one.residual is not None and not one.residual[1:].any() for one in result.results)


def test_eden_long_block_takes_memory_of_its_vector() -> None:
    vectors = [drawn("Gaussian", 5000, worker) for worker in range(2)]
    runs = [simulate(codecs.get("eden", workers=2, block=block), vectors) for block in (8192, 1 << 40)]
    assert runs[0].values.tobytes() == runs[1].values.tobytes()


@given(st.integers(1, 32), st.integers(0, 200), st.randoms(use_true_random=False))
def test_fields_come_back_and_add_up(bits: int, count: int, random: Any) -> None:
    numbers = np.array([random.getrandbits(bits) for _ in range(count)], np.uint32)
    words = pack_fields(numbers, bits)
    assert words.size == field_words(count, bits) and (unpack_fields(words, bits, count) == numbers).all()
    stream = pack_bits(numbers, bits)
    dense = bits_to_words(stream)
    assert dense.size == -(-count * bits // 32)
    assert (unpack_bits(words_to_bits(dense, count * bits), bits) == numbers).all()
    half = numbers >> np.uint32(1)
    sums = unpack_fields(pack_fields(half, bits) + pack_fields(half, bits), bits, count)
    assert (sums == 2 * half).all()
