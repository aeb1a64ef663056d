# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Training job of `make run`: one model with and without lanesum, and a report that compares them."""
