// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Vectors of 16 bytes, which every processor of the architecture has: SSE2 or NEON.
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <array>
#include <utility>

#include "codecs/kernels.hpp"

namespace lanesum::codecs {
namespace {

#define LANESUM_VECTOR_BYTES 16
#include "codecs/loops.inl"

}  // namespace

constexpr Kernels BASELINE = ALL;

}  // namespace lanesum::codecs
