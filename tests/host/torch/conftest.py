# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures: two and four ranks, and a fake device."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")
from lanesum.gpu import staging  # noqa: E402  needs torch
from tests.host.torch.fake_device import FakeDevice  # noqa: E402  needs torch
from tests.host.torch.ranks import Ranks  # noqa: E402  needs torch


@pytest.fixture(scope="session")
def ranks() -> Iterator[Ranks]:
    pair = Ranks(2)
    yield pair
    pair.close()


@pytest.fixture(scope="session")
def four_ranks() -> Iterator[Ranks]:
    four = Ranks(4)
    yield four
    four.close()


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> FakeDevice:
    """Treat tensors of the host as those of a fake device, and return it."""
    fake = FakeDevice()
    monkeypatch.setenv(staging.VARIABLE, "interpret")
    monkeypatch.setitem(staging._stagings, torch.device("cpu"), fake)
    return fake
