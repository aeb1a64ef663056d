// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Packet counters of a worker; lanesum/transport/stats.py defines them.
#pragma once

#include <cstdint>

#include "transport/constants.hpp"
#include "transport/counter.hpp"
#include "transport/latency.hpp"

namespace lanesum::transport {

struct TransportStats {
#define LANESUM_COUNTER(name) Counter name;
    LANESUM_TRANSPORT_COUNTERS(LANESUM_COUNTER)
#undef LANESUM_COUNTER
    LatencyHistogram latency;  // of chunks, from first transmission to result

    /// Sets all counts to 0.
    void reset() {
#define LANESUM_RESET(name) name.reset();
        LANESUM_TRANSPORT_COUNTERS(LANESUM_RESET)
#undef LANESUM_RESET
        latency.reset();
    }

    /// Calls ``visit(name, value)`` for each counter, without ``latency``.
    template <typename Visit>
    void each(Visit visit) const {
#define LANESUM_VISIT(name) visit(#name, static_cast<std::uint64_t>(name));
        LANESUM_TRANSPORT_COUNTERS(LANESUM_VISIT)
#undef LANESUM_VISIT
    }
};

}  // namespace lanesum::transport
