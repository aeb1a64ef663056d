// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Spreads a window's first sends over a round trip, as in lanesum/transport/pacing.py.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace lanesum::transport {

class Pacer {
public:
    void sample(double rtt_s) { smoothed_s_ = smoothed_s_ ? *smoothed_s_ + WEIGHT * (rtt_s - *smoothed_s_) : rtt_s; }

    std::int64_t credit(double now, std::int64_t window) {
        const double per_s = rate(window);
        if (filled_at_) {
            credit_ += (now - *filled_at_) * per_s;
        }
        filled_at_ = now;
        credit_ = std::min(credit_, std::max(LEAST_BURST, per_s * SLACK_S));
        return static_cast<std::int64_t>(credit_ + NEARLY);
    }

    void spend(std::int64_t packets) { credit_ -= static_cast<double>(packets); }

    /// Nothing where only a result can bring it about.
    std::optional<double> left_s(std::int64_t window) const {
        if (credit_ + NEARLY >= 1) {
            return 0.0;
        }
        const double per_s = rate(window);
        return per_s > 0 ? std::optional((1 - credit_) / per_s) : std::nullopt;
    }

private:
    static constexpr double WEIGHT = 0.125;
    static constexpr double GAIN = 1.25;
    static constexpr double SLACK_S = 1e-3;
    static constexpr double LEAST_BURST = 8;
    static constexpr double NEARLY = 1e-3;

    double rate(std::int64_t window) const {
        return smoothed_s_ && *smoothed_s_ != 0 ? GAIN * static_cast<double>(window) / *smoothed_s_ : 0.0;
    }

    std::optional<double> smoothed_s_;
    double credit_ = LEAST_BURST;
    std::optional<double> filled_at_;
};

}  // namespace lanesum::transport
