// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/link.hpp"

#include <algorithm>
#include <utility>

namespace lanesum::transport {

Link::Link(JobTicket of, std::unique_ptr<CongestionControl> control, bool pacing)
    : ticket(std::move(of)), membership(ticket), congestion(std::move(control)),
      pacer(pacing ? std::optional<Pacer>(std::in_place) : std::nullopt),
      paths(ticket.servers) {}

double ServerPath::answer_interval_s() const {
    const std::optional<double> shortest = rtt.shortest_s();
    return shortest ? std::min(MIN_RTO_S, *shortest) : MIN_RTO_S;
}

void Link::count_sent(std::size_t size, bool again, bool bypass, bool asked) {
    ++stats.packets_sent;
    stats.bytes_sent += size;
    stats.retransmissions += again;
    stats.bypasses += bypass;
    stats.answered_pendings += asked;
}

}  // namespace lanesum::transport
