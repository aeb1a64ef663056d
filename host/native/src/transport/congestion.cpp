// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/congestion.hpp"

#include <algorithm>

namespace lanesum::transport {

void Aimd::on_packet_acked(std::int64_t sent, std::int64_t next_sequence, bool marked) {
    if (marked) {
        on_packet_lost(sent, next_sequence);
        return;
    }
    ++clean_;
    if (clean_ >= congestion_window_) {
        clean_ = 0;
        congestion_window_ = std::min(max_window_, congestion_window_ + 1);
    }
}

void Aimd::on_packet_lost(std::int64_t sent, std::int64_t next_sequence) {
    if (sent >= reduced_at_) {
        halve(next_sequence);
    }
}

void Aimd::on_persistent_congestion(std::int64_t next_sequence, std::int64_t in_flight) {
    if (2 * in_flight > congestion_window_) {
        halve(next_sequence);
    }
}

void Aimd::halve(std::int64_t next_sequence) {
    congestion_window_ = std::max<std::int64_t>(1, congestion_window_ / 2);
    clean_ = 0;
    reduced_at_ = next_sequence;
}

std::unique_ptr<CongestionControl> congestion_control(std::string_view name, std::int64_t max_window) {
    if (name == "aimd") {
        return std::make_unique<Aimd>(max_window);
    }
    if (name == "fixed") {
        return std::make_unique<FixedWindow>(max_window);
    }
    return nullptr;
}

}  // namespace lanesum::transport
