# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Two ranks that train."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from tests.host.torch.conftest import ranks

__all__ = ["ranks"]
