# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The loops on several threads: the same bits for any number of them, and every thread ends before the call does."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from lanesum import codecs
from lanesum.codecs.kernels import dispatch as kernels
from lanesum.codecs.kernels import threaded
from lanesum.codecs.kernels.arguments import BlockUnits
from lanesum.codecs.kernels.interface import Kernels
from lanesum.codecs.thc.kernels import BlockKernels, block_kernels
from lanesum.errors import ConfigurationError
from lanesum_lab.codec_simulation import simulate

SIZES = (1, 31, 200_001, (1 << 18) + 1)
CASES = [
    ("thc", {"bits": 3}),
    ("thc", {"bits": 4}),
    ("thc", {"bits": 4, "lanes": 16, "block": 32}),
    ("thc", {"bits": 5, "block": 65536}),
    ("thc", {"bits": 8}),
    ("thc-paper", {"chunk": 1 << 15}),
    ("fixed", {}),
    ("fixed", {"block": 7}),
]


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threaded, "_MIN_VALUES", 64)


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_bits_are_the_same_for_any_number_of_threads(
    name: str, options: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for size in SIZES:
        vectors = [np.random.default_rng((worker, size)).normal(size=size).astype(np.float32) for worker in range(3)]
        outcomes = []
        for count in (1, 2, 3, 7):
            monkeypatch.setenv(threaded.VARIABLE, str(count))
            codec = codecs.get(name, workers=3, **options)
            run = simulate(codec, vectors, seed=3, keep_residual=True)
            outcomes.append(
                [words.tobytes() for words in run.aggregates]
                + [part.tobytes() for one in run.results for part in (one.values, one.residual) if part is not None]
            )
        assert all(outcome == outcomes[0] for outcome in outcomes)


def test_counts_of_a_quorum_go_with_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    sums = generator.integers(-(2**31), 2**31, 10_001, dtype=np.int32)
    counts, maxima = generator.integers(1, 9, sums.size).astype(np.float64), np.ones(11, np.float32)
    outcomes = []
    for count in (1, 4):
        monkeypatch.setenv(threaded.VARIABLE, str(count))
        out = np.empty(sums.size, np.float32)
        kernels.kernels().from_integers(sums, BlockUnits(maxima, 2**31 - 1, 1000), 1, counts, out)
        outcomes.append(out.tobytes())
    assert outcomes[0] == outcomes[1]


def ranges(values: int, unit: int) -> list[tuple[int, int]]:
    """Those that ``in_parts`` makes, in order; each was another thread's but the first."""
    found: list[tuple[int, int, int]] = []
    meeting = threading.Barrier(min(threaded.threads(), max(1, values // threaded._MIN_VALUES), -(-values // unit)))

    def work(first: int, stop: int) -> None:
        meeting.wait()  # all are in flight at once, or this never ends
        found.append((first, stop, threading.get_ident()))

    threaded.in_parts(values, unit, work)
    assert len({thread for *_, thread in found}) == len(found)
    return sorted((first, stop) for first, stop, _ in found)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_unit_is_one_thread_s(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(threaded.VARIABLE, str(count))
    for values, unit in ((10_000, 100), (10_001, 100), (300, 299), (63, 1), (200, 1)):
        found = ranges(values, unit)
        assert found[0][0] == 0 and found[-1][1] == -(-values // unit)
        assert [stop for _, stop in found[:-1]] == [first for first, _ in found[1:]]
        assert all(first < stop for first, stop in found)
        assert len(found) == min(count, max(1, values // 64), -(-values // unit))


def test_thread_error_is_raised_when_all_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(threaded.VARIABLE, "3")
    ended: list[int] = []

    def work(first: int, stop: int) -> None:
        if first < 100:
            raise ValueError(first)
        threading.Event().wait(0.05)
        ended.append(stop)

    with pytest.raises(ValueError, match="0"):
        threaded.in_parts(300, 1, work)
    assert sorted(ended) == [200, 300]


def test_forked_process_has_its_own_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(threaded.VARIABLE, "2")
    assert len(ranges(1000, 1)) == 2
    child = os.fork()
    if not child:
        os._exit(len(ranges(1000, 1)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2


@pytest.mark.parametrize("text", ["0", "-1", "two", "", "1.5", "257"])
def test_nonsense_in_the_environment_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(threaded.VARIABLE, text)
    with pytest.raises(ConfigurationError, match="LANESUM_THREADS"):
        simulate(codecs.get("thc", workers=1), [np.ones(5, dtype=np.float32)])


def test_unshared_loops_are_available_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(threaded.VARIABLE, "2")
    for protocol, there in ((Kernels, kernels.kernels()), (BlockKernels, block_kernels())):
        names = [name for name in vars(protocol) if not name.startswith("_")]
        assert len(names) > 5 and all(callable(getattr(there, name)) for name in names)
