# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tofino's architectures in the embedded switch: TNA and T2NA programs as p4c prints them after its front end."""
