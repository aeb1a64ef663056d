# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Commands of the embedded switch: ``lanesum switch`` and ``lanesum faults``."""
