// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// What all rounds of a session share, and what is known of the path to every server, as in lanesum/transport/link.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "transport/congestion.hpp"
#include "transport/membership.hpp"
#include "transport/pacing.hpp"
#include "transport/rtt.hpp"
#include "transport/stats.hpp"
#include "transport/ticket.hpp"

namespace lanesum::transport {

struct ServerPath {
    RttEstimator rtt;
    std::int64_t sequence = 0;

    double answer_interval_s() const;
};

struct Link {
    Link(JobTicket of, std::unique_ptr<CongestionControl> control, bool pacing);

    JobTicket ticket;
    Membership membership;
    std::unique_ptr<CongestionControl> congestion;
    std::optional<Pacer> pacer;
    SlotWindow slots;
    std::vector<ServerPath> paths;  // by number of the server
    TransportStats stats;
    std::int64_t sequence = 0;
    std::uint32_t unanswered = 0;

    void count_sent(std::size_t size, bool again, bool bypass, bool asked = false);
};

}  // namespace lanesum::transport
