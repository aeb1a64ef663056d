# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels on tensors of the host, by Triton's interpreter, which is chosen when a process first imports Triton."""

from __future__ import annotations

import os

import pytest

os.environ["TRITON_INTERPRET"] = "1"


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat tensors of the host as those of a device."""
    monkeypatch.setenv("LANESUM_GPU", "interpret")
