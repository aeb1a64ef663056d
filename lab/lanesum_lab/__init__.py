# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""lanesum laboratory: benchmarks, simulator, attack tools, training jobs and the runner of ``make run``."""
