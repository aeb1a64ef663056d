// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/slot_backoff.hpp"

#include <algorithm>

#include "transport/constants.hpp"

namespace lanesum::transport {

void SlotBackoff::on_result(std::uint32_t slot, bool collided) {
    if (slot >= backoffs_.size()) {
        if (!collided) {
            return;
        }
        backoffs_.resize(slot + 1);
    }
    Backoff &backoff = backoffs_[slot];
    if (backoff.turns == 0) {
        if (collided) {
            backoff = {1, 1};
        }
    } else if (backoff.remaining > 0) {
        // This turn bypassed the switch, so the flag belongs to a contribution that went astray.
        --backoff.remaining;
    } else if (collided) {
        const auto turns = static_cast<std::uint8_t>(std::min(2 * backoff.turns, MAX_BYPASS_TURNS));
        backoff = {turns, turns};
    } else {
        backoff = {};
    }
}

}  // namespace lanesum::transport
