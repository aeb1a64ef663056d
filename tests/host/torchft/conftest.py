# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Skip the folder where torchft is not installed."""

import pytest

pytest.importorskip("torchft", reason="needs torchft: pip install 'lanesum[torchft]'")
