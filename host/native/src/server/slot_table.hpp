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
    PartialSums retaken;             ///< contributions of workers whose check of the result failed
};

/// Entries of one job, created on first use: at most two for each slot, and one for each chunk of the opening.
///
/// Callers lock the run of a packet before they use its entry, and keep it locked until they are done.
class ServerSlotTable {
public:
    /// Entries of a run of slots, or all of the opening, with their lock and free partial sums. Where packets are
    /// steered by slot, one thread has all packets of a run (lanesum/server/steering.py).
    struct alignas(64) Run {  // a cache line of its own: no false sharing between threads
        std::mutex lock;
        PartialSumPool pool;
        std::vector<std::unique_ptr<ServerEntry>> entries;  // by slot, then shadow set; of the opening by chunk
    };

    /// @param servers servers of the job; a run has SLOT_RUN slots of each.
    ServerSlotTable(std::uint32_t slots, std::uint32_t servers, std::uint32_t workers, std::size_t accumulator_words);

    Run &run(std::uint32_t slot) { return runs_[slot / run_slots_]; }
    Run &run_of(const Header &header) { return header.spare == OPENING ? runs_.back() : run(header.slot); }

    /// Return the number of chunks of the opening.
    std::uint32_t opening_chunks() const { return static_cast<std::uint32_t>(runs_.back().entries.size()); }

    /// Count one contribution. ``workers`` is a worker's number or a set, ``owner`` alone uses a scattered chunk's words.
    /// Throws std::bad_alloc; the contribution is lost then, as if the network had dropped it.
    template <typename Workers>
    std::pair<ServerDecision, ServerEntry *> contribute(const Header &header, const Workers &workers,
                                                        const Payload &payload, std::uint32_t flags,
                                                        bool single_workers, std::optional<std::uint32_t> owner);

    /// Return the entry; null if it was never used.
    const ServerEntry *find(std::uint32_t slot, std::uint32_t shadow) {
        return run(slot).entries[index(slot, shadow)].get();
    }

    std::uint32_t slots() const { return slots_; }

private:
    std::size_t index(std::uint32_t slot, std::uint32_t shadow) const { return slot % run_slots_ * 2 + shadow; }

    std::uint32_t slots_;
    std::uint32_t run_slots_;
    std::uint32_t workers_;
    std::size_t accumulator_words_;
    std::vector<Run> runs_;  // the last one is the opening's
};

}  // namespace lanesum::server
