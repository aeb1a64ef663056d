# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels on several threads: the same bits for any number of them. ``host/native/tests`` has the threads alone."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lanesum import codecs, environment
from lanesum._internal.native import availability
from lanesum.codecs.kernels import dispatch as kernels
from lanesum.codecs.kernels.interface import BlockUnits
from lanesum.errors import ConfigurationError
from lanesum_lab.codec_simulation import simulate

needs_native = pytest.mark.skipif(availability().core is None, reason=availability().reason)

#: Longer ones than a part, which no thread shares.
SIZES = (1, 31, 200_001, (1 << 18) + 1)
CASES = [
    ("thc", {"bits": 3}),
    ("thc", {"bits": 4}),
    ("thc", {"bits": 4, "lanes": 16, "block": 32}),
    ("thc", {"bits": 5, "block": 65536}),
    ("thc", {"bits": 8}),
    ("fixed", {}),
    ("fixed", {"block": 7}),
]


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_bits_are_equal_for_any_number_of_threads(
    name: str, options: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for size in SIZES:
        vectors = [np.random.default_rng((worker, size)).normal(size=size).astype(np.float32) for worker in range(3)]
        outcomes = []
        for count in (1, 2, 3, 7):
            monkeypatch.setenv(environment.THREADS, str(count))
            codec = codecs.get(name, workers=3, **options)
            run = simulate(codec, vectors, seed=3, keep_residual=True)
            outcomes.append(
                [words.tobytes() for words in run.aggregates]
                + [part.tobytes() for one in run.results for part in (one.values, one.residual) if part is not None]
            )
        assert all(outcome == outcomes[0] for outcome in outcomes)


def test_counts_of_a_quorum_go_with_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    sums = generator.integers(-(2**31), 2**31, 200_001, dtype=np.int32)
    counts, maxima = generator.integers(1, 9, sums.size).astype(np.float64), np.ones(201, np.float32)
    outcomes = []
    for count in (1, 4):
        monkeypatch.setenv(environment.THREADS, str(count))
        out = np.empty(sums.size, np.float32)
        kernels.kernels().from_integers(sums, BlockUnits(maxima, 2**31 - 1, 1000), 1, counts, out)
        outcomes.append(out.tobytes())
    assert outcomes[0] == outcomes[1]


def square_sums(values: np.ndarray) -> bytes:
    out = np.empty(-(-values.size // 4096))
    kernels.kernels().square_sums(values, 4096, out)
    return out.tobytes()


def test_kernels_called_at_once_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(2).normal(size=200_001).astype(np.float32)
    expected = square_sums(values)
    monkeypatch.setenv(environment.THREADS, "3")
    with ThreadPoolExecutor(3) as callers:
        assert set(callers.map(square_sums, [values] * 30)) == {expected}


def test_forked_process_has_its_own_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.THREADS, "2")
    values = np.random.default_rng(3).normal(size=200_001).astype(np.float32)
    expected = square_sums(values)
    child = os.fork()
    if not child:
        os._exit(0 if square_sums(values) == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("text", ["0", "-1", "two", "", "1.5", "257"])
def test_nonsense_in_the_environment_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.THREADS, text)
    with pytest.raises(
        ConfigurationError, match=f"Invalid LANESUM_THREADS={text!r}: expected an integer from 1 to 256"
    ):
        simulate(codecs.get("thc", workers=1), [np.ones(5, dtype=np.float32)])


@needs_native
@pytest.mark.parametrize("threads", [0, 257])
def test_native_kernels_refuse_numbers_of_threads(threads: int) -> None:
    core = availability().core
    assert core is not None
    for kind in (core.CodecKernels, core.BlockKernels):
        with pytest.raises(ValueError, match="1 to 256 threads"):
            kind(threads=threads)
