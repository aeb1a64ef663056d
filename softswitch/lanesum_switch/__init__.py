# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""lanesum embedded switch: runs p4c's BMv2 JSON in-process and serves P4Runtime."""
