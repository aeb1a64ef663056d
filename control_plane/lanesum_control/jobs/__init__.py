# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Records of jobs and of their workers: requests, tickets, leases, reports, ports and tenants."""
