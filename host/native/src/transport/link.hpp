// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// State that all rounds of a session share, as in lanesum/transport/link.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "transport/certification.hpp"
#include "transport/congestion.hpp"
#include "transport/membership.hpp"
#include "transport/pacing.hpp"
#include "transport/rtt.hpp"
#include "transport/slot_backoff.hpp"
#include "transport/slot_shares.hpp"
#include "transport/stats.hpp"
#include "transport/ticket.hpp"

namespace lanesum::transport {

struct ServerPath {
    RttEstimator rtt;
    std::int64_t sequence = 0;

    double min_request_interval_s() const;
};

/// Each share of the slots has a link of its own; with one share, it is that of the session.
struct Link {
    /// @param first the link of another share, whose check words this one has too; null for the first.
    Link(JobTicket of, std::unique_ptr<CongestionControl> control, bool pacing,
         std::shared_ptr<const SlotShares> all_shares, std::uint32_t own_share, const Link *first = nullptr);

    JobTicket ticket;
    Membership membership;
    std::shared_ptr<const Certification> certification;  // null without check words
    std::shared_ptr<const SlotShares> shares;
    std::uint32_t share;
    std::unique_ptr<CongestionControl> congestion;
    std::optional<Pacer> pacer;
    SlotBackoff slot_backoff;
    std::vector<ServerPath> paths;  // by number of the server
    TransportStats stats;
    std::int64_t sequence = 0;
    std::uint32_t unanswered_probes = 0;

    bool owns(std::uint64_t position) const { return shares->count() == 1 || shares->of_position(position) == share; }

    void count_sent(std::size_t size, bool retransmission, bool bypass, bool requested = false) {
        ++stats.packets_sent;
        stats.bytes_sent += size;
        stats.retransmissions += retransmission;
        stats.bypasses += bypass;
        stats.answered_pendings += requested;
    }
};

}  // namespace lanesum::transport
