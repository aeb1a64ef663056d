// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Entries by slot and shadow set; as in lanesum/server/ledger.py.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "protocol/header.hpp"
#include "server/pieces.hpp"

namespace lanesum::server {

enum class Decision : std::uint32_t {
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
    "claim",          "claim_and_complete", "contribute",      "contribute_and_complete", "replay",
    "report_pending", "report_overlap",     "report_conflict", "drop_late",
};

/// Whose entry it is. Job and tag are those of the ledger.
struct Owner {
    std::uint32_t op;
    std::uint32_t epoch;
    std::uint32_t chunk;
    std::uint32_t round_words;
};

enum class Order { NEWER, SAME, OLDER, CONFLICT };

/// As in lanesum/aggregation/slots.py.
Order order_of(const Header &header, const Owner &owner);

/// One shadow set of one slot.
struct Entry {
    Owner owner{};
    Pieces pieces;
    std::uint32_t flags = 0;         ///< those of contributions so far that a result repeats
    std::optional<Header> result;    ///< of the result, once complete; its words are the pieces' total
    std::optional<Header> conflict;  ///< once workers have disagreed about the chunk: there is to be no result
};

/// The entries of one job, made when first used: two for each of its slots at most.
///
/// Entries are guarded by a lock for every STRIPES-th slot, which also guards the pieces that none of them needs. Who
/// asks for a stripe keeps it locked until it has done with the entry.
class Ledger {
public:
    Ledger(std::uint32_t slots, std::uint32_t workers, std::size_t accumulator_words);

    struct Stripe;

    Stripe &stripe(std::uint32_t slot) { return stripes_[slot % STRIPES]; }

    /// Takes one contribution; the stripe of its slot is locked. ``workers``: a worker's number, or a set.
    /// Throws std::bad_alloc; the contribution is as good as lost then.
    template <typename Workers>
    std::pair<Decision, Entry *> take(const Header &header, const Workers &workers, const Payload &payload,
                                      std::uint32_t flags, bool single);

    /// The entry, if it was ever used; its stripe is locked.
    const Entry *find(std::uint32_t slot, std::uint32_t shadow) const { return entries_[slot * 2 + shadow].get(); }

    std::uint32_t slots() const { return static_cast<std::uint32_t>(entries_.size() / 2); }

    struct alignas(64) Stripe {  // two threads with two locks are not to share a cache line
        std::mutex lock;
        PieceStore store;
    };

private:
    static constexpr std::uint32_t STRIPES = 64;  // a few times as many as threads, so that they hardly ever wait

    std::uint32_t workers_;
    std::size_t accumulator_words_;
    std::vector<std::unique_ptr<Entry>> entries_;  // by slot, then shadow set
    std::array<Stripe, STRIPES> stripes_;
};

}  // namespace lanesum::server
