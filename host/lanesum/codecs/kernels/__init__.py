# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the codecs: loops over elements in NumPy and in the native extension, and the choice between both."""
