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

/// Uplink words of a packet that fills ``accumulator_words``.
inline std::size_t uplink_words(LaneOp op, std::size_t accumulator_words) {
    return accumulator_words / WIDENING[static_cast<std::uint32_t>(op)];
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
