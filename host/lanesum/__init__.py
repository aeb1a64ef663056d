# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""lanesum host library: gradients summed while compressed, in a programmable switch."""
