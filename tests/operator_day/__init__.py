# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""An operator's day: every operation of ``docs/operating.md`` while jobs sum, with its cost."""
