// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/rtt.hpp"

#include <algorithm>

namespace lanesum::transport {
namespace {

// Queues behind a full window stretch a round trip by a small factor.
constexpr double RTO_FACTOR = 4;
constexpr std::uint64_t SAMPLES_PER_EPISODE = 64;
constexpr double QUEUED_FACTOR = 2;
constexpr double QUEUED_S = 2e-3;
constexpr double INFINITE = std::numeric_limits<double>::infinity();

}  // namespace

void RttEstimator::sample(double rtt_s) {
    current_ = std::min(current_, rtt_s);
    least_ = std::min(least_, rtt_s);
    ++samples_;
    if (samples_ % SAMPLES_PER_EPISODE == 0) {
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
    return shortest && *shortest > QUEUED_FACTOR * least_ + QUEUED_S;
}

double RttEstimator::quick_timeout_s() const {
    const std::optional<double> shortest = shortest_s();
    return shortest ? std::min(MAX_RTO_S, RTO_FACTOR * *shortest) : INITIAL_RTO_S;
}

double RttEstimator::timeout_s() const { return std::max(MIN_RTO_S, quick_timeout_s()); }

}  // namespace lanesum::transport
