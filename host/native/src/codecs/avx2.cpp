// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <immintrin.h>

#include <utility>

#include "codecs/kernels.hpp"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif

namespace lanesum::codecs {
namespace {

#define LANESUM_VECTOR_BYTES 32
#include "codecs/loops.inl"

}  // namespace

constexpr Kernels AVX2 = ALL;

}  // namespace lanesum::codecs

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
