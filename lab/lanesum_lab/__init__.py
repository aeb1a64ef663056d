# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""lanesum laboratory: benchmarks, training jobs, builds of P4 programs and the runner of ``make run``."""
