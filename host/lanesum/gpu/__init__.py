# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Codecs on CUDA devices: Triton kernels with the bits of the NumPy loops, and copies between device and network.

The modules here need PyTorch, and those with kernels need Triton: none is imported before the first tensor.
"""
