# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Control plane of lanesum: admits jobs and programs switches over P4Runtime."""
