# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Turns an ``ir.Program`` into Python source, once per pipeline push, and the source into functions."""
