// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Pacing, as in lanesum/transport/pacing.py.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "transport/constants.hpp"

namespace lanesum::transport {

class Pacer {
public:
    void sample(double rtt_s) {
        smoothed_s_ = smoothed_s_ ? *smoothed_s_ + PACING_RTT_WEIGHT * (rtt_s - *smoothed_s_) : rtt_s;
    }

    std::int64_t credit(double now, std::int64_t window) {
        const double per_s = rate(window);
        if (filled_at_) {
            credit_ += (now - *filled_at_) * per_s;
        }
        filled_at_ = now;
        credit_ = std::min(credit_, std::max(PACING_MIN_BURST, per_s * PACING_SLACK_S));
        return static_cast<std::int64_t>(credit_ + PACING_TOLERANCE);
    }

    void spend(std::int64_t packets) { credit_ -= static_cast<double>(packets); }

    /// Nothing if only a result admits a packet.
    std::optional<double> left_s(std::int64_t window) const {
        if (credit_ + PACING_TOLERANCE >= 1) {
            return 0.0;
        }
        const double per_s = rate(window);
        return per_s > 0 ? std::optional((1 - credit_) / per_s) : std::nullopt;
    }

private:
    double rate(std::int64_t window) const {
        return smoothed_s_ && *smoothed_s_ != 0 ? PACING_GAIN * static_cast<double>(window) / *smoothed_s_ : 0.0;
    }

    std::optional<double> smoothed_s_;
    double credit_ = PACING_MIN_BURST;
    std::optional<double> filled_at_;
};

}  // namespace lanesum::transport
