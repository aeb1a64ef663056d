# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Connections to switches over P4Runtime and BF Runtime, and the tables that they must have."""
