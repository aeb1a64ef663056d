// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Timeouts from measured round-trip times, as in lanesum/transport/rtt.py.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace lanesum::transport {

class RttEstimator {
public:
    void sample(double rtt_s);

    /// Nothing before the first sample.
    std::optional<double> shortest_s() const;
    bool queued() const;
    double loss_delay_s() const;
    double probe_timeout_s() const;

private:
    double current_ = std::numeric_limits<double>::infinity();
    double previous_ = std::numeric_limits<double>::infinity();
    double shortest_ever_ = std::numeric_limits<double>::infinity();
    std::uint64_t samples_ = 0;
};

}  // namespace lanesum::transport
