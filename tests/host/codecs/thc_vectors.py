# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors of very different scales, and what holds for every form of THC that sums them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lanesum_lab.codec_simulation import Simulation

finite = st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**120), max_value=2.0**120)


@st.composite
def vectors_of_scales(draw: st.DrawFn, longest: int) -> list[np.ndarray]:
    """One float32 vector for each of up to 8 workers, all of one length."""
    workers = draw(st.integers(1, 8))
    size = draw(st.integers(0, longest))
    scales = [draw(st.sampled_from([1e-42, 1e-20, 1.0, 1e30])) for _ in range(workers)]
    elements = st.floats(-1, 1, width=32)
    return [(draw(hnp.arrays(np.float32, size, elements=elements)) * np.float32(s)).astype(np.float32) for s in scales]


def check_sum(run: Simulation, vectors: list[np.ndarray], block: int, max_error: float) -> None:
    """Check for the same bits everywhere and an error of at most ``max_error`` times a block's largest norm."""
    for result in run.results:
        assert result.values.tobytes() == run.values.tobytes()
        assert result.residual is not None and np.isfinite(result.residual).all()
    assert run.values.shape == vectors[0].shape and np.isfinite(run.values).all()
    for start in range(0, vectors[0].size, block):
        norms = [np.linalg.norm(v[start : start + block].astype(np.float64)) for v in vectors]
        if max(norms) == 0:
            assert not run.values[start : start + block].any()
        error = run.values[start : start + block] - np.mean([v[start : start + block] for v in vectors], axis=0)
        assert np.linalg.norm(error.astype(np.float64)) <= max_error * max(norms) + 1e-43
