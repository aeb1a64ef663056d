# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Typer commands as entry points of ``lanesum``, and the options that they share."""
