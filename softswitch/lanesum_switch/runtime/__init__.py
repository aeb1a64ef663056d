# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Objects that compiled programs work on: tables, action profiles, counters, meters, registers and hash functions."""
