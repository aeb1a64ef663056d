# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Entities that only other people's programs have: action profiles, digests, meters and idle timeouts.

``entities`` registers them with the P4Runtime server.
"""
