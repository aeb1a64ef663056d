# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels on tensors of the host, by Triton's interpreter, which is chosen when a process first imports Triton."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

# Kernels are also used by the tests of their benchmark, which select the interpreter too.
os.environ["TRITON_INTERPRET"] = "1"


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Treat tensors of the host as those of a device."""
    monkeypatch.setenv("LANESUM_GPU", "interpret")
    yield
