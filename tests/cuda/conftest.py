# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A real GPU, if there is one. Kernels are compiled here; other tests use Triton's interpreter."""

from __future__ import annotations

import os

import pytest

torch = pytest.importorskip("torch")


@pytest.fixture
def gpu() -> torch.device:
    """Return the GPU, or skip the test without one.

    ``LANESUM_TEST_DEVICE=cpu`` runs the tests on the host, with the variables of the interpreter.
    """
    chosen = os.environ.get("LANESUM_TEST_DEVICE", "cuda")
    if chosen == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a CUDA device, and PyTorch finds none")
    if chosen == "cuda" and os.environ.get("TRITON_INTERPRET") == "1":
        pytest.skip("Triton interprets in this process: run tests/cuda by itself")
    return torch.device(chosen)
