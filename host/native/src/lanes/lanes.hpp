// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// The lane operations (docs/protocol.md, "Lane operations"). Words are in network order on the wire, and in the
// machine's own in accumulators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/spec.hpp"

namespace lanesum {

constexpr const LaneShape &shape_of(LaneOp op) { return LANE_SHAPES[static_cast<std::uint32_t>(op)]; }

/// So many accumulator words are whole groups: a packet of that size can carry the operation.
constexpr bool fills(LaneOp op, std::size_t accumulator_words) {
    return accumulator_words % shape_of(op).accumulator_words_per_group == 0;
}

/// Uplink words of the whole groups that ``accumulator_words`` hold.
constexpr std::size_t uplink_words(LaneOp op, std::size_t accumulator_words) {
    return accumulator_words / shape_of(op).accumulator_words_per_group * shape_of(op).uplink_words_per_group;
}

/// Accumulator words that the whole groups in ``uplink_words`` become.
constexpr std::size_t result_words(LaneOp op, std::size_t uplink_words) {
    return uplink_words / shape_of(op).uplink_words_per_group * shape_of(op).accumulator_words_per_group;
}

/// Puts one contribution into an accumulator.
///
/// @param accumulator all words of the packet.
/// @param payload as many uplink words as the operation has for them; with ``wide`` as many words as the accumulator.
/// @param wide what another point has summed: nothing is widened or looked up again.
/// @param code_table CODE_TABLE_ENTRIES bytes, or null, which counts every code of TABLE8 as 0.
/// @param first overwrite what is there.
void contribute(LaneOp op, std::span<std::uint32_t> accumulator, const std::byte *payload, bool wide,
                const std::uint8_t *code_table, bool first);

/// ``accumulator`` combined with the words of another one.
void merge(LaneOp op, std::span<std::uint32_t> accumulator, std::span<const std::uint32_t> words);

/// Words to network order and back; neither side has to be aligned.
void store_words(std::byte *wire, std::span<const std::uint32_t> words);
void load_words(std::span<std::uint32_t> words, const std::byte *wire);

}  // namespace lanesum
