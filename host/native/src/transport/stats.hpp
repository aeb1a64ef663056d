// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Packet counters of a worker; lanesum/transport/stats.py defines them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>

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

    /// Sums of the counts of several threads.
    struct Totals {
#define LANESUM_TOTAL(name) std::uint64_t name = 0;
        LANESUM_TRANSPORT_COUNTERS(LANESUM_TOTAL)
#undef LANESUM_TOTAL
        std::array<std::uint64_t, LATENCY_BUCKETS> latency{};

        void add(const TransportStats &stats) {
#define LANESUM_ADD(name) name += stats.name;
            LANESUM_TRANSPORT_COUNTERS(LANESUM_ADD)
#undef LANESUM_ADD
            const auto counts = stats.latency.counts();
            std::ranges::transform(latency, counts, latency.begin(), std::plus{});
        }

        /// Calls ``visit(name, value)`` for each counter, without ``latency``.
        template <typename Visit>
        void each(Visit visit) const {
#define LANESUM_VISIT(name) visit(#name, name);
            LANESUM_TRANSPORT_COUNTERS(LANESUM_VISIT)
#undef LANESUM_VISIT
        }
    };
};

}  // namespace lanesum::transport
