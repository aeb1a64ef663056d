# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tools for people who look at packets, and for those who test what a network does to them. Not part of the runtime.

scapy is GPL-2.0-only and comes with an extra.
"""
