// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <immintrin.h>

#include <utility>

#include "codecs/kernels.hpp"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512bw,avx512vl"))), apply_to = function)
#else
// Some of gcc's own intrinsics begin with a register of any content, and are warned about.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC target("avx512bw,avx512vl,prefer-vector-width=512")
#endif

namespace lanesum::codecs {
namespace {

#define LANESUM_VECTOR_BYTES 64
#include "codecs/loops.inl"

}  // namespace

constexpr Kernels AVX512 = ALL;

}  // namespace lanesum::codecs

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
