# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Commands of the laboratory: ``lanesum run`` and ``lanesum bench``."""
