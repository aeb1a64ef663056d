// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Classes of errno of calls on a UDP socket; lanesum/transport/constants.py explains them.
#pragma once

#include <algorithm>
#include <iterator>

#include "transport/constants.hpp"

namespace lanesum::io {

/// The datagram counts as lost: the worker that lacks it asks again.
constexpr bool is_no_buffer(int error) {
    return std::ranges::find(transport::NO_BUFFER_ERRNOS, error) != std::end(transport::NO_BUFFER_ERRNOS);
}

/// The error of an ICMP message, which the kernel reports once, in the next call.
constexpr bool is_icmp(int error) {
    return std::ranges::find(transport::ICMP_ERRNOS, error) != std::end(transport::ICMP_ERRNOS);
}

/// The error of this host's own routing table, if every try reports it.
constexpr bool is_no_route(int error) {
    return std::ranges::find(transport::NO_ROUTE_ERRNOS, error) != std::end(transport::NO_ROUTE_ERRNOS);
}

}  // namespace lanesum::io
