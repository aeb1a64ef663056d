// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Classes of errno of calls on a UDP socket; lanesum/transport/constants.py explains them.
#pragma once

#include <algorithm>
#include <iterator>

#include "transport/constants.hpp"

namespace lanesum::io {

/// The datagram counts as lost: the worker that lacks it asks again.
constexpr bool is_unsent(int error) {
    return std::ranges::find(transport::UNSENT_ERRNOS, error) != std::end(transport::UNSENT_ERRNOS);
}

/// The error of an ICMP message, which the kernel reports once, in the next call.
constexpr bool is_icmp(int error) {
    return std::ranges::find(transport::ICMP_ERRNOS, error) != std::end(transport::ICMP_ERRNOS);
}

}  // namespace lanesum::io
