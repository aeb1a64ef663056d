// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/congestion.hpp"

#include <algorithm>

namespace lanesum::transport {
namespace {

constexpr int LONGEST_BYPASS = 16;

}  // namespace

void Aimd::result(std::int64_t sent, std::int64_t following, bool marked) {
    if (marked) {
        loss(sent, following);
        return;
    }
    ++clean_;
    if (clean_ >= packets_) {
        clean_ = 0;
        packets_ = std::min(most_, packets_ + 1);
    }
}

void Aimd::loss(std::int64_t sent, std::int64_t following) {
    if (sent >= reduced_at_) {
        halve(following);
    }
}

void Aimd::silence(std::int64_t following, std::int64_t under_way) {
    if (2 * under_way > packets_) {
        halve(following);
    }
}

void Aimd::halve(std::int64_t following) {
    packets_ = std::max<std::int64_t>(1, packets_ / 2);
    clean_ = 0;
    reduced_at_ = following;
}

std::unique_ptr<CongestionControl> congestion_control(std::string_view name, std::int64_t most) {
    if (name == "aimd") {
        return std::make_unique<Aimd>(most);
    }
    if (name == "fixed") {
        return std::make_unique<Fixed>(most);
    }
    return nullptr;
}

void SlotWindow::result(std::uint32_t slot, bool collided) {
    if (slot >= avoided_.size()) {
        if (!collided) {
            return;
        }
        avoided_.resize(slot + 1);
    }
    Avoided &avoided = avoided_[slot];
    if (avoided.turns == 0) {
        if (collided) {
            avoided = {1, 1};
        }
    } else if (avoided.left > 0) {
        // It did not meet anybody in this turn, whatever the flag says of a contribution that went astray.
        --avoided.left;
    } else if (collided) {
        const auto turns = static_cast<std::uint8_t>(std::min(2 * avoided.turns, LONGEST_BYPASS));
        avoided = {turns, turns};
    } else {
        avoided = {};
    }
}

}  // namespace lanesum::transport
