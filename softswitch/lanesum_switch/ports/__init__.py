# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ports of a switch: network interfaces (AF_PACKET), UDP sockets and memory, and the loop that serves them."""
