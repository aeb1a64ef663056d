# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fuzzers of everything that reads bytes from outside; ``make fuzz-grpc``, ``fuzz-udp``, ``fuzz-files``."""
