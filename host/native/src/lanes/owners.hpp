// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Owners of the chunks of scattered and gathered rounds, as in lanesum/protocol/owners.py.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "lanes/lanes.hpp"

namespace lanesum {

/// Order of the chunks of a round: its ``shards`` of equally many ``chunks`` take turns of ``TURN_CHUNKS``.
struct Turns {
    std::uint32_t shards;
    std::uint32_t chunks;

    /// Return the order of a round that is scattered or gathered, as its packets describe it.
    static Turns of_round(LaneOp op, std::uint32_t round_size, std::size_t accumulator_words, std::uint32_t workers) {
        const std::size_t data_words =
            (round_size & CERTIFIED) != 0 ? certified_data_words(op, accumulator_words, workers) : accumulator_words;
        const std::size_t packet_words = std::max<std::size_t>(1, uplink_words(op, data_words));
        const std::size_t shard_words = (round_size & MAX_ROUND_WORDS) / workers;
        const std::size_t chunks = (shard_words + packet_words - 1) / packet_words;
        return {workers, static_cast<std::uint32_t>(std::max<std::size_t>(1, chunks))};
    }

    /// Return the shard of a chunk of the round, and the number of the chunk in it.
    std::pair<std::uint32_t, std::uint32_t> place(std::uint32_t chunk) const {
        if (shards == 1) {
            return {0, chunk};
        }
        const std::uint32_t first = chunk / (TURN_CHUNKS * shards) * TURN_CHUNKS;
        const std::uint32_t rest = chunk % (TURN_CHUNKS * shards);
        const std::uint32_t length = first < chunks ? std::min(TURN_CHUNKS, chunks - first) : 1;
        return {rest / length % shards, first + rest % length};
    }
};

/// Return the worker that a chunk belongs to, by number; nothing if it belongs to all workers.
inline std::optional<std::uint32_t> owner_of(std::uint32_t chunk, std::uint32_t round_size, const Turns &turns) {
    return round_size & (SCATTERED | GATHERED) ? std::optional(turns.place(chunk).first) : std::nullopt;
}

/// Return the value of ``spare`` that names the owner of a chunk of a scattered round; 0 names none.
inline std::uint32_t owner_mark(std::optional<std::uint32_t> owner, std::uint32_t round_size) {
    return (round_size & SCATTERED) != 0 && owner && *owner < MAX_NAMED_OWNERS ? FIRST_OWNER + *owner : 0;
}

/// Return true if the contribution of a worker has words.
inline bool sends_words(std::uint32_t worker, std::optional<std::uint32_t> owner, std::uint32_t round_size) {
    return owner == worker || (round_size & GATHERED) == 0;
}

/// Return true if the result of a chunk has words for a worker.
inline bool gets_words(std::uint32_t worker, std::optional<std::uint32_t> owner, std::uint32_t round_size) {
    if ((round_size & GATHERED) != 0) {
        return owner != worker || (round_size & CERTIFIED) != 0;
    }
    return !owner || *owner == worker;
}

}  // namespace lanesum
