// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Lane operations (docs/protocol.md, "Lane operations"). Words are in network byte order on the wire, and in the
// machine's byte order in accumulators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/spec.hpp"

namespace lanesum {

constexpr const LaneShape &shape_of(LaneOp op) { return LANE_SHAPES[static_cast<std::uint32_t>(op)]; }

/// Return true if ``accumulator_words`` are whole groups, so that packets of this size can carry the operation.
constexpr bool fills(LaneOp op, std::size_t accumulator_words) {
    return accumulator_words % shape_of(op).accumulator_words_per_group == 0;
}

/// Return the uplink words of the whole groups in ``accumulator_words``.
constexpr std::size_t uplink_words(LaneOp op, std::size_t accumulator_words) {
    return accumulator_words / shape_of(op).accumulator_words_per_group * shape_of(op).uplink_words_per_group;
}

/// Return the accumulator words of the whole groups in ``uplink_words``.
constexpr std::size_t result_words(LaneOp op, std::size_t uplink_words) {
    return uplink_words / shape_of(op).uplink_words_per_group * shape_of(op).accumulator_words_per_group;
}

/// Return the accumulator words of data in a packet of a certified job, as in lanesum/protocol/lanes.py.
constexpr std::size_t certified_data_words(LaneOp op, std::size_t accumulator_words, std::size_t workers) {
    if (shape_of(op).lookup) {
        return 0;
    }
    if (shape_of(op).combine == Combine::ADD) {
        return accumulator_words - shape_of(op).accumulator_words_per_group;
    }
    return accumulator_words > workers ? (accumulator_words - workers) / 2 : 0;
}

/// Combine one contribution with an accumulator.
///
/// @param accumulator all accumulator words of the packet.
/// @param payload the uplink words for them; with ``wide`` as many accumulator words.
/// @param wide the payload is an aggregate: it is neither widened nor looked up again.
/// @param code_table CODE_TABLE_ENTRIES bytes; null counts every looked-up code as 0.
/// @param first overwrite the accumulator.
void contribute(LaneOp op, std::span<std::uint32_t> accumulator, const std::byte *payload, bool wide,
                const std::uint8_t *code_table, bool first);

/// Combine ``accumulator`` with the words of another one.
void merge(LaneOp op, std::span<std::uint32_t> accumulator, std::span<const std::uint32_t> words);

/// Return the sum of words times factors, of equal number, modulo 2^32.
std::uint32_t sum_products(std::span<const std::uint32_t> words, const std::uint32_t *factors);

/// Sums of the lower and of the upper halves of products, each of 32 bits.
struct LongSum {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
};

/// Return the sum of words times factors, of equal number.
LongSum sum_long_products(std::span<const std::uint32_t> words, const std::uint32_t *factors);

/// Convert words to network byte order and back; the bytes need no alignment.
void store_words(std::byte *wire, std::span<const std::uint32_t> words);
void load_words(std::span<std::uint32_t> words, const std::byte *wire);

}  // namespace lanesum
