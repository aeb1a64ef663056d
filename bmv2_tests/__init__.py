# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The conformance suite: one set of tests for every implementation of the lanesum switch."""
