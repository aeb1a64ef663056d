// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// The loops of the lane operations, one set for each level of vector instructions. lanes.cpp calls those of the level
// that is chosen.
#pragma once

#include <cstddef>
#include <cstdint>

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

    /// Makes two accumulator words of each of ``count`` uplink words; only look_up reads ``code_table``, of 16 bytes.
    using Widen = void (*)(std::uint32_t *accumulator, const std::byte *payload, std::size_t count,
                           const std::uint8_t *code_table);
    Widen expand, expand_add, look_up, look_up_add;

    /// Makes whole groups of accumulator words of ``groups`` groups of uplink words: EXPAND16, EXPAND8TO16, EXPAND3TO8
    /// and EXPAND5TO8.
    using Groups = void (*)(std::uint32_t *accumulator, const std::byte *payload, std::size_t groups);
    Groups put_16, add_16, put_8_to_16, add_8_to_16, put_3_to_8, add_3_to_8, put_5_to_8, add_5_to_8;

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
