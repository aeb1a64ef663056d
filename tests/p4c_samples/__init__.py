# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Runner of p4c's samples with packet tests: ``python -m tests.p4c_samples FOLDER``; docs/switch.md describes it."""
