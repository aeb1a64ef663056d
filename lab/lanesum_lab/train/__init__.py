# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A training job to look at: the same model with and without lanesum, and a report that compares them."""
