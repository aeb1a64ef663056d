# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Select Triton's interpreter for the benchmark of the kernels; a process selects it when it first imports Triton."""

from __future__ import annotations

import os

os.environ["TRITON_INTERPRET"] = "1"
