# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Codecs on CUDA devices: Triton kernels with the bits of the NumPy loops, and the way between device and network.

Nothing here but :mod:`lanesum.gpu.driver` is imported before a tensor comes: lanesum needs neither PyTorch nor Triton
otherwise.
"""
