// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// The loops of the lane operations, one set for each level of vector instructions. lanes.cpp calls those of the level
// that is chosen.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/spec.hpp"

namespace lanesum {

/// Plain pointers: what a level's file instantiates must not be shared with code for lesser processors, as inline
/// functions of the standard library would be.
struct Kernels {
    /// Combines ``count`` words in network order, wherever they lie, with accumulator words.
    using Contribute = void (*)(std::uint32_t *accumulator, const std::byte *payload, std::size_t count);
    Contribute add, bit_or, max;

    /// Combines the words of one accumulator with those of another.
    using Merge = void (*)(std::uint32_t *accumulator, const std::uint32_t *words, std::size_t count);
    Merge merge_add, merge_or, merge_max;

    /// Makes accumulator words of ``groups`` whole groups of uplink words; TABLE8 alone reads ``code_table``, 16 bytes.
    using Widen = void (*)(std::uint32_t *accumulator, const std::byte *payload, std::size_t groups,
                           const std::uint8_t *code_table);
    /// By the operation's number; null for those that do not widen.
    struct ForEachOp {
        Widen by_number[LANE_OPS];
        constexpr Widen &operator[](std::size_t op) { return by_number[op]; }
        constexpr Widen operator[](std::size_t op) const { return by_number[op]; }
    };
    ForEachOp widen, widen_add;

    /// Turns the byte order of ``count`` words; source and target do not overlap, or are the same in turn_in_place.
    void (*turn)(std::byte *to, const std::byte *from, std::size_t count);
    void (*turn_in_place)(std::byte *words, std::size_t count);
};

extern const Kernels BASELINE_KERNELS;
#if defined(__x86_64__)
extern const Kernels AVX2_KERNELS;
extern const Kernels AVX512_KERNELS;
#endif

}  // namespace lanesum
