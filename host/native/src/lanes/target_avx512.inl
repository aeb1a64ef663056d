// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// What follows is compiled for processors with AVX-512 F, BW, DQ and VL, down to target_end.inl. After all headers,
// whose inline functions are everybody's.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512bw,avx512vl"))), apply_to = function)
#else
// Some of gcc's own intrinsics begin with a register of any content, and are warned about.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC target("avx512bw,avx512vl,prefer-vector-width=512")
#endif
