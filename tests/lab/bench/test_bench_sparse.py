# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse all-reduces beside dense ones: every sum is compared, every figure is there. No speed is judged."""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys

import numpy as np
import pytest

from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import WORD_BYTES
from lanesum_lab.bench import sparse
from lanesum_lab.bench.reducer import ALL_GATHER
from lanesum_lab.bench.vectors import Sparse, sparse_vector
from lanesum_lab.veth import obstacle


def formula_words(by: str, values: int, density: float) -> float:
    """Return the uplink and downlink words of a sparse codec by the thresholds of peeling and the optimal Bloom filter.

    Cells per key: 1 / 0.818, or 1 / 0.918 coupled, and slightly more for small sketches; false positives are keys, too.
    """
    keys = density * values
    cells = min(1.2226 + 2 / math.sqrt(keys), 1.125 + 16 / math.sqrt(keys)) if by == "sketch" else 1.0
    false = min(0.5, density / (32 * cells * math.log(2) ** 2 * (1 - density)))
    bloom = -density * math.log(false) / math.log(2) ** 2 + 32 * cells * (density + false * (1 - density))
    return 2 * values * min(1 + 32 * cells * density, bloom) / (8 * WORD_BYTES)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.skipif(bool(obstacle()), reason=obstacle() or "-")
def test_every_method_sends_the_words_of_the_formula() -> None:
    command = [sys.executable, "-m", "lanesum.cli", "bench", "sparse", "--quick", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    figures = {figure["by"]: figure for figure in json.loads(done.stdout)["figures"]}
    assert set(figures) == {*sparse.CODECS, ALL_GATHER}
    for figure in figures.values():
        assert figure["seconds"]["median"] > 0 and figure["wire_mbyte"]["median"] > 0
    for by in ("sketch", "union"):
        assert figures[by]["words"] == pytest.approx(formula_words(by, 100_000, 0.05), rel=0.05)
        assert figures[by]["words"] < figures["fixed"]["words"] / 10
        assert figures[by]["times_fewer_bytes"]["median"] > 8 > figures["fixed"]["times_fewer_bytes"]["median"] == 1
        # The links have carried words, headers, acknowledgements and retransmissions.
        assert figures[by]["wire_mbyte"]["median"] * 1e6 > 4 * figures[by]["words"]
    assert len(list(sparse.rows({"values": 100_000, "figures": list(figures.values())}))) == len(figures)


@pytest.mark.parametrize("overlap", [0.0, 0.5, 1.0])
def test_vectors_have_requested_union_and_overlap(overlap: float) -> None:
    size, workers = 200_000, 4
    vectors = np.array([sparse_vector(worker, workers, size, Sparse(0.1, overlap)) for worker in range(workers)])
    there = vectors != 0
    assert np.mean(there.any(axis=0)) == pytest.approx(0.1, rel=0.05)
    common = np.count_nonzero(there.all(axis=0))
    assert common / np.count_nonzero(there[0]) == pytest.approx(overlap, abs=0.03)
    assert np.count_nonzero(there.sum(axis=0) > 1) == common
    assert (vectors == np.rint(vectors)).all() and np.abs(vectors).max() < 1000


def test_settings_that_mean_nothing_are_refused() -> None:
    share = "A sparsity is between 0 and 1, and a rate above 0"
    for wrong, message in (
        ({"sparsities": (1.0,)}, share),
        ({"rates_mbit": (0.0,)}, share),
        ({"workers": (1,)}, "An all-reduce needs two workers at least"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            sparse.SparseSettings(**wrong)  # type: ignore[arg-type]
