# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Codecs on CUDA devices: Triton kernels with the bits of the NumPy loops, and copies between device and network.

Only :mod:`lanesum.gpu.driver` may be imported before the first tensor. All other modules here need PyTorch, and those
with kernels need Triton.
"""
