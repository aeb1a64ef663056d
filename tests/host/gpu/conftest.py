# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels on tensors of the host, with Triton's interpreter: chosen for a process when Triton is first imported."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

# Nothing else in this process, or in those that other tests start, has kernels of its own.
os.environ["TRITON_INTERPRET"] = "1"


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tensors of the host are a device's here."""
    monkeypatch.setenv("LANESUM_GPU", "interpret")
    yield
