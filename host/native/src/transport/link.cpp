// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/link.hpp"

#include <algorithm>
#include <utility>

#include "transport/constants.hpp"

namespace lanesum::transport {

Link::Link(JobTicket of, std::unique_ptr<CongestionControl> control, bool pacing)
    : ticket(std::move(of)),
      membership(ticket),
      certification(ticket.certified ? std::make_shared<const Certification>(ticket) : nullptr),
      congestion(std::move(control)),
      pacer(pacing ? std::optional<Pacer>(std::in_place) : std::nullopt),
      paths(ticket.servers) {}

double ServerPath::min_request_interval_s() const {
    const std::optional<double> shortest = rtt.shortest_s();
    return shortest ? std::min(MIN_PTO_S, *shortest) : MIN_PTO_S;
}

}  // namespace lanesum::transport
