// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <utility>

#include "codecs/kernels.hpp"

#include "lanes/target_avx512.inl"

namespace lanesum::codecs {
namespace {

#define LANESUM_VECTOR_BYTES 64
#include "codecs/loops.inl"

}  // namespace

constexpr Kernels AVX512 = ALL;

}  // namespace lanesum::codecs

#include "lanes/target_end.inl"
#endif
