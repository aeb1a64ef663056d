# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sums of words, and the order of chunks, as every aggregation point computes them."""
