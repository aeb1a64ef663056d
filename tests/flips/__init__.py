# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Flips of single bits in registers, packets and server memory, in process (docs/certified-sums.md)."""
