# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Builds of the P4 programs with p4c and the assembler, and reports on them; for developers."""
