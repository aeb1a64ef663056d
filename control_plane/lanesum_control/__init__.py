# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""lanesum control plane: admits jobs and programs switches over P4Runtime."""
