// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Retransmission timeout from measured round-trip times, as in lanesum/transport/rtt.py.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace lanesum::transport {

inline constexpr double MIN_RTO_S = 0.02;
inline constexpr double MAX_RTO_S = 1.0;
inline constexpr double INITIAL_RTO_S = 0.1;

class RttEstimator {
public:
    void sample(double rtt_s);

    /// Nothing before the first sample.
    std::optional<double> shortest_s() const;
    bool queued() const;
    double quick_timeout_s() const;
    double timeout_s() const;

private:
    double current_ = std::numeric_limits<double>::infinity();
    double previous_ = std::numeric_limits<double>::infinity();
    double least_ = std::numeric_limits<double>::infinity();
    std::uint64_t samples_ = 0;
};

}  // namespace lanesum::transport
