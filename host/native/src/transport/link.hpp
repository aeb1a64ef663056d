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
#include "transport/stats.hpp"
#include "transport/ticket.hpp"

namespace lanesum::transport {

struct ServerPath {
    RttEstimator rtt;
    std::int64_t sequence = 0;

    double min_request_interval_s() const;
};

struct Link {
    Link(JobTicket of, std::unique_ptr<CongestionControl> control, bool pacing);

    JobTicket ticket;
    Membership membership;
    std::shared_ptr<const Certification> certification;  // null without check words
    std::unique_ptr<CongestionControl> congestion;
    std::optional<Pacer> pacer;
    SlotBackoff slot_backoff;
    std::vector<ServerPath> paths;  // by number of the server
    TransportStats stats;
    std::int64_t sequence = 0;
    std::uint32_t unanswered_probes = 0;

    void count_sent(std::size_t size, bool retransmission, bool bypass, bool requested = false) {
        ++stats.packets_sent;
        stats.bytes_sent += size;
        stats.retransmissions += retransmission;
        stats.bypasses += bypass;
        stats.answered_pendings += requested;
    }
};

}  // namespace lanesum::transport
