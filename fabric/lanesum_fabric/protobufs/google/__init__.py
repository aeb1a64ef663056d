# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Modules of ``google.rpc``, from googleapis-common-protos."""
