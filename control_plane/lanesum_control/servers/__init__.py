# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Connections to aggregation servers, their supervision, and the jobs at each of them."""
