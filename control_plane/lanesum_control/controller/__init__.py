# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The controller: admissions, supervision, and the service that workers and operators call."""
