# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Placement of jobs on switches: network, slot ranges and quotas, without switches and state."""
