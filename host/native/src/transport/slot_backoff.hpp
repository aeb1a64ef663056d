// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Exponential back-off of slots that collide with other jobs', as in lanesum/transport/slot_backoff.py.
#pragma once

#include <cstdint>
#include <vector>

namespace lanesum::transport {

class SlotBackoff {
public:
    bool bypasses(std::uint32_t slot) const { return slot < backoffs_.size() && backoffs_[slot].remaining > 0; }
    void on_result(std::uint32_t slot, bool collided);

private:
    struct Backoff {
        std::uint8_t turns = 0;  // 0: none
        std::uint8_t remaining = 0;
    };
    std::vector<Backoff> backoffs_;  // by slot, up to the last one that ever collided
};

}  // namespace lanesum::transport
