// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "server/slot_table.hpp"

#include <algorithm>
#include <type_traits>

namespace lanesum::server {

// INV-3: epochs are compared as serial numbers (RFC 1982), so an older packet never claims an entry.
ChunkOrder order_of(const Header &header, const Owner &owner) {
    const std::uint32_t epochs_ahead = header.epoch - owner.epoch;
    if (epochs_ahead >= std::uint32_t{1} << 31) {
        return ChunkOrder::OLDER;
    }
    if (epochs_ahead != 0 || header.chunk > owner.chunk) {
        return ChunkOrder::NEWER;
    }
    if (header.chunk < owner.chunk) {
        return ChunkOrder::OLDER;
    }
    return header.op == owner.op && header.racks == owner.round_words ? ChunkOrder::SAME : ChunkOrder::CONFLICT;
}

ServerSlotTable::ServerSlotTable(std::uint32_t slots, std::uint32_t servers, std::uint32_t workers,
                                 std::size_t accumulator_words)
    : slots_(slots),
      run_slots_(SLOT_RUN * servers),
      workers_(workers),
      accumulator_words_(accumulator_words),
      runs_((slots + run_slots_ - 1) / run_slots_ + 1) {
    for (std::uint32_t begin = 0; begin < slots; begin += run_slots_) {
        run(begin).entries.resize(std::size_t{std::min(run_slots_, slots - begin)} * 2);
    }
    runs_.back().entries.resize((NONCE_WORDS * workers + accumulator_words - 1) / accumulator_words);
}

template <typename Workers>
std::pair<ServerDecision, ServerEntry *> ServerSlotTable::contribute(const Header &header, const Workers &workers,
                                                                     const Payload &payload, std::uint32_t flags,
                                                                     bool single_workers,
                                                                     std::optional<std::uint32_t> owner) {
    Run &run = run_of(header);
    std::unique_ptr<ServerEntry> &found =
        run.entries[header.spare == OPENING ? header.chunk : index(header.slot, header.shadow)];
    PartialSumPool &pool = run.pool;
    const ChunkOrder order = found == nullptr ? ChunkOrder::NEWER : order_of(header, found->owner);
    if (order == ChunkOrder::NEWER) {
        if (found == nullptr) {
            found = std::make_unique<ServerEntry>();
        }
        found->owner = {header.op, header.epoch, header.chunk, header.racks};
        found->partial_sums.reset(static_cast<LaneOp>(header.op), single_workers, pool);
        found->retaken.reset(static_cast<LaneOp>(header.op), true, pool);
        found->flags = 0;
        found->result.reset();
        found->conflict.reset();
    }
    ServerEntry &entry = *found;
    const bool refused = (header.flags & (FLAG_OVERFLOW | FLAG_UPPER)) == FLAG_OVERFLOW && header.spare != OPENING;
    // No other worker uses the words of a scattered chunk, and all keep their contributions until its owner has them.
    bool reopened = false;
    if constexpr (std::is_same_v<Workers, std::uint32_t>) {
        reopened = order == ChunkOrder::SAME && entry.result && refused && workers == owner;
    }
    if (reopened) {
        entry.partial_sums.reset(static_cast<LaneOp>(header.op), single_workers, pool);
        entry.result.reset();
    }
    if (order == ChunkOrder::OLDER) {
        return {ServerDecision::DROP_LATE, &entry};
    }
    if (order == ChunkOrder::CONFLICT || entry.conflict) {
        return {ServerDecision::REPORT_CONFLICT, &entry};
    }
    if (entry.result) {
        // No worker uses a sum that all refuse, so their second contributions make another one.
        if (!refused) {
            return {ServerDecision::REPLAY, &entry};
        }
        entry.retaken.add(workers, payload, accumulator_words_, pool);
        if (entry.retaken.count() < workers_) {
            return {ServerDecision::REPLAY, &entry};
        }
        std::swap(entry.partial_sums, entry.retaken);
        entry.retaken.reset(static_cast<LaneOp>(header.op), true, pool);
        entry.flags |= flags;
        return {ServerDecision::CONTRIBUTE_AND_COMPLETE, &entry};
    }
    const Acceptance acceptance = entry.partial_sums.add(workers, payload, accumulator_words_, pool);
    // A duplicate repairs nothing, so its flag says nothing about the result.
    entry.flags |=
        acceptance == Acceptance::ACCEPTED ? flags : flags & ~static_cast<std::uint32_t>(FLAG_RETRANSMISSION);
    if (entry.partial_sums.count() >= workers_) {
        const bool claims = order == ChunkOrder::NEWER;
        return {claims ? ServerDecision::CLAIM_AND_COMPLETE : ServerDecision::CONTRIBUTE_AND_COMPLETE, &entry};
    }
    if (order == ChunkOrder::NEWER) {
        return {ServerDecision::CLAIM, &entry};
    }
    if (reopened) {
        return {ServerDecision::REPORT_PENDING, &entry};
    }
    switch (acceptance) {
        case Acceptance::DUPLICATE:
            return {ServerDecision::REPORT_PENDING, &entry};
        case Acceptance::OVERLAP:
            return {ServerDecision::REPORT_OVERLAP, &entry};
        default:
            return {ServerDecision::CONTRIBUTE, &entry};
    }
}

template std::pair<ServerDecision, ServerEntry *> ServerSlotTable::contribute(const Header &, const std::uint32_t &,
                                                                              const Payload &, std::uint32_t, bool,
                                                                              std::optional<std::uint32_t>);
template std::pair<ServerDecision, ServerEntry *> ServerSlotTable::contribute(const Header &, const WorkerSet &,
                                                                              const Payload &, std::uint32_t, bool,
                                                                              std::optional<std::uint32_t>);

}  // namespace lanesum::server
