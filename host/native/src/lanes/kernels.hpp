// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Loops of the lane operations, one set for each level of vector instructions. lanes.cpp calls those of the level in use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/spec.hpp"

namespace lanesum {

/// Plain pointers only. Code that one level instantiates must not be shared with code for lesser processors, as inline
/// functions of the standard library would be.
struct Kernels {
    /// Combine ``count`` words in network order, at any address, with accumulator words.
    using Contribute = void (*)(std::uint32_t *accumulator, const std::byte *payload, std::size_t count);
    Contribute contribute[COMBINES];  // by Combine

    /// Combine the words of one accumulator with those of another.
    using Merge = void (*)(std::uint32_t *accumulator, const std::uint32_t *words, std::size_t count);
    Merge merge[COMBINES];  // by Combine

    /// Widen ``groups`` groups of uplink words to accumulator words. Operations with lookup read ``code_table``, 16 bytes.
    using Widen = void (*)(std::uint32_t *accumulator, const std::byte *payload, std::size_t groups,
                           const std::uint8_t *code_table);
    Widen widen[LANE_OPS];  // by LaneOp, overwrites; null for operations that do not widen
    Widen widen_add[LANE_OPS];  // the same, adds

    /// Return the sum of words times factors, modulo 2^32.
    std::uint32_t (*sum_products)(const std::uint32_t *words, const std::uint32_t *factors, std::size_t count);

    /// Add words times factors: the lower and the upper halves of the products, each of 32 bits, apart.
    void (*sum_long_products)(const std::uint32_t *words, const std::uint32_t *factors, std::size_t count,
                              std::uint64_t *low, std::uint64_t *high);

    /// Swap the byte order of ``count`` words; the ranges do not overlap, or are the same in ``swap_bytes_in_place``.
    void (*swap_bytes)(std::byte *to, const std::byte *from, std::size_t count);
    void (*swap_bytes_in_place)(std::byte *words, std::size_t count);
};

extern const Kernels BASELINE_KERNELS;
#if defined(__x86_64__)
extern const Kernels AVX2_KERNELS;
extern const Kernels AVX512_KERNELS;
#endif

}  // namespace lanesum
