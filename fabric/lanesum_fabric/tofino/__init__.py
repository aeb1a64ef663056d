# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tofino: chips, profiles, the build of ``p4src/tofino`` and the files for a switch agent."""
