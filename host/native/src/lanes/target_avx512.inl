// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Compile the code up to target_end.inl for processors with AVX-512 F, BW, DQ and VL. Include it after all headers, whose
// inline functions all levels share.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512bw,avx512vl"))), apply_to = function)
#else
// Some intrinsics of gcc start with an uninitialized register, and gcc warns about them.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC target("avx512bw,avx512vl,prefer-vector-width=512")
#endif
