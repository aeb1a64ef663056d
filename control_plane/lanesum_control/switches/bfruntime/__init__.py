# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""BF Runtime: the protocol of ``bf_switchd``, the agent of most Tofino switches."""
