# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Two ranks, and a device that is none, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")
from lanesum.gpu import staging  # noqa: E402  needs torch
from tests.host.torch.fake_device import FakeDevice  # noqa: E402  needs torch
from tests.host.torch.torch_ranks import Ranks  # noqa: E402  needs torch


@pytest.fixture(scope="session")
def ranks() -> Iterator[Ranks]:
    pair = Ranks(2)
    yield pair
    pair.close()


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> FakeDevice:
    """Tensors of the host are taken for a device's, and go through it."""
    fake = FakeDevice()
    monkeypatch.setenv(staging.VARIABLE, "interpret")
    monkeypatch.setitem(staging._stagings, torch.device("cpu"), fake)
    return fake
