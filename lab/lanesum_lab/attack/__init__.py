# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Attack tools: an attacker on a switch port that has captured all packets of a job."""
