// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// What a worker counts of its packets, as in lanesum/transport/stats.py.
#pragma once

#include <cstdint>

#include "transport/counter.hpp"
#include "transport/latency.hpp"

namespace lanesum::transport {

#define LANESUM_TRANSPORT_STATS(COUNT) \
    COUNT(packets_sent) \
    COUNT(packets_received) \
    COUNT(bytes_sent) \
    COUNT(bytes_received) \
    COUNT(retransmissions) \
    COUNT(answered_pendings) \
    COUNT(bypasses) \
    COUNT(duplicate_results) \
    COUNT(pending_replies) \
    COUNT(conflicts) \
    COUNT(foreign_packets) \
    COUNT(partial_results) \
    COUNT(ecn_marks) \
    COUNT(collisions) \
    COUNT(rounds)

struct TransportStats {
#define LANESUM_COUNTER(name) Counter name;
    LANESUM_TRANSPORT_STATS(LANESUM_COUNTER)
#undef LANESUM_COUNTER
    Latency latency;  // of chunks, from their first send to their result

    /// Calls ``visit(name, value)`` for each count, without ``latency``.
    template <typename Visit>
    void each(Visit visit) const {
#define LANESUM_VISIT(name) visit(#name, static_cast<std::uint64_t>(name));
        LANESUM_TRANSPORT_STATS(LANESUM_VISIT)
#undef LANESUM_VISIT
    }
};

}  // namespace lanesum::transport
