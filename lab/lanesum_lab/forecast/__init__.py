# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Forecast of training steps on a network that need not exist: ``lanesum plan``."""
