// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/rtt.hpp"

#include <algorithm>

#include "transport/constants.hpp"

namespace lanesum::transport {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

}  // namespace

void RttEstimator::sample(double rtt_s) {
    current_ = std::min(current_, rtt_s);
    shortest_ever_ = std::min(shortest_ever_, rtt_s);
    ++samples_;
    if (samples_ % RTT_SAMPLES_PER_EPISODE == 0) {
        previous_ = current_;
        current_ = INFINITE;
    }
}

std::optional<double> RttEstimator::shortest_s() const {
    const double shortest = std::min(current_, previous_);
    return shortest == INFINITE ? std::nullopt : std::optional(shortest);
}

bool RttEstimator::queued() const {
    const std::optional<double> shortest = shortest_s();
    return shortest && *shortest > QUEUED_RTT_FACTOR * shortest_ever_ + QUEUED_MARGIN_S;
}

double RttEstimator::loss_delay_s() const {
    const std::optional<double> shortest = shortest_s();
    return shortest ? std::min(MAX_PTO_S, PTO_RTT_FACTOR * *shortest) : INITIAL_PTO_S;
}

double RttEstimator::probe_timeout_s() const { return std::max(MIN_PTO_S, loss_delay_s()); }

}  // namespace lanesum::transport
