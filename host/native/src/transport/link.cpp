// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/link.hpp"

#include <algorithm>
#include <utility>

#include "transport/constants.hpp"

namespace lanesum::transport {

Link::Link(JobTicket of, std::unique_ptr<CongestionControl> control, bool pacing,
           std::shared_ptr<const SlotShares> all_shares, std::uint32_t own_share, const Link *first)
    : ticket(std::move(of)),
      membership(ticket),
      certification(first != nullptr   ? first->certification
                    : ticket.certified ? std::make_shared<const Certification>(ticket)
                                       : nullptr),
      shares(std::move(all_shares)),
      share(own_share),
      congestion(std::move(control)),
      pacer(pacing ? std::optional<Pacer>(std::in_place) : std::nullopt),
      paths(ticket.servers) {}

double ServerPath::min_request_interval_s() const {
    const std::optional<double> shortest = rtt.shortest_s();
    return shortest ? std::min(MIN_PTO_S, *shortest) : MIN_PTO_S;
}

}  // namespace lanesum::transport
