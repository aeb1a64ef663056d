// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Entries by slot and shadow set, as in lanesum/server/slot_table.py.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/header.hpp"
#include "server/partial_sums.hpp"

namespace lanesum::server {

enum class ServerDecision : std::uint32_t {
    CLAIM,
    CLAIM_AND_COMPLETE,
    CONTRIBUTE,
    CONTRIBUTE_AND_COMPLETE,
    REPLAY,
    REPORT_PENDING,
    REPORT_OVERLAP,
    REPORT_CONFLICT,
    DROP_LATE,
};
inline constexpr std::array<const char *, 9> DECISION_NAMES = {
    "claim",          "claim_and_complete", "contribute", "contribute_and_complete", "replay", "report_pending",
    "report_overlap", "report_conflict",    "drop_late",
};

/// Owner of an entry. All entries of a table have the same job and tag.
struct Owner {
    std::uint32_t op;
    std::uint32_t epoch;
    std::uint32_t chunk;
    std::uint32_t round_words;
};

enum class ChunkOrder { NEWER, SAME, OLDER, CONFLICT };

/// Compare a packet with the owner of its entry, as in lanesum/aggregation/slots.py.
ChunkOrder order_of(const Header &header, const Owner &owner);

/// One shadow set of one slot.
struct ServerEntry {
    Owner owner{};
    PartialSums partial_sums;
    std::uint32_t flags = 0;         ///< flags of the contributions that the result repeats
    std::optional<Header> result;    ///< header of the result, once complete; its words are the total
    std::optional<Header> conflict;  ///< set once workers disagree about the chunk, which then has no result
};

/// Entries of one job, created on first use: at most two for each slot, and one for each chunk of the opening.
///
/// A stripe is a lock for every STRIPES-th slot with the free partial sums of its entries; chunks of the opening count
/// as slots. Callers lock the stripe of a packet before they use its entry, and keep it locked until they are done.
class ServerSlotTable {
public:
    ServerSlotTable(std::uint32_t slots, std::uint32_t workers, std::size_t accumulator_words);

    struct Stripe;

    Stripe &stripe(std::uint32_t slot) { return stripes_[slot % STRIPES]; }
    Stripe &stripe_of(const Header &header) { return stripe(header.spare == OPENING ? header.chunk : header.slot); }

    /// Return the number of chunks of the opening.
    std::uint32_t opening_chunks() const { return static_cast<std::uint32_t>(entries_.size()) - 2 * slots_; }

    /// Count one contribution. ``workers`` is a worker's number or a set.
    /// Throws std::bad_alloc; the contribution is lost then, as if the network had dropped it.
    template <typename Workers>
    std::pair<ServerDecision, ServerEntry *> contribute(const Header &header, const Workers &workers,
                                                        const Payload &payload, std::uint32_t flags,
                                                        bool single_workers);

    /// Return the entry; null if it was never used.
    const ServerEntry *find(std::uint32_t slot, std::uint32_t shadow) const {
        return entries_[slot * 2 + shadow].get();
    }

    std::uint32_t slots() const { return slots_; }

    struct alignas(64) Stripe {  // a cache line of its own: no false sharing between threads
        std::mutex lock;
        PartialSumPool pool;
    };

private:
    static constexpr std::uint32_t STRIPES = 64;  // several times the number of threads: waiting is rare

    std::uint32_t slots_;
    std::uint32_t workers_;
    std::size_t accumulator_words_;
    std::vector<std::unique_ptr<ServerEntry>> entries_;  // by slot, then shadow set; then those of the opening by chunk
    std::array<Stripe, STRIPES> stripes_;
};

}  // namespace lanesum::server
