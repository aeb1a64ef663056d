// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Division of a job's slots into the shares of a worker's threads, by runs as at a server: see SLOT_SHARES in
// lanesum/protocol/spec.py. ``worker_shares`` in lanesum/protocol/steering.py has the same shares in the kernel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "protocol/spec.hpp"

namespace lanesum::transport {

class SlotShares {
public:
    /// @param run_slots slots of each server that neighbour in one share.
    SlotShares(std::uint32_t slots, std::uint32_t servers, std::uint32_t shares, std::uint32_t run_slots)
        : of_slot_(slots), sizes_(shares) {
        for (std::uint32_t slot = 0; slot < slots; ++slot) {
            const std::uint32_t run = slot / (run_slots * servers);
            of_slot_[slot] = static_cast<std::uint8_t>((run + run / SLOT_SKEW) % SLOT_SHARES % shares);
            ++sizes_[of_slot_[slot]];
        }
    }

    std::uint32_t count() const { return static_cast<std::uint32_t>(sizes_.size()); }
    /// Divides a window as the slots are, into at least 1 for each share. Otherwise the sum is ``window``.
    std::vector<std::int64_t> divide(std::int64_t window) const {
        const auto used = std::ranges::count_if(sizes_, [](std::uint32_t size) { return size != 0; });
        const std::int64_t rest = std::max<std::int64_t>(0, window - used);
        const std::int64_t slots = static_cast<std::int64_t>(of_slot_.size()) - used;
        std::vector<std::int64_t> windows;
        std::int64_t before = 0, given = 0;
        for (const std::uint32_t size : sizes_) {
            before += size == 0 ? 0 : size - 1;
            const std::int64_t until = slots == 0 ? 0 : rest * before / slots;
            windows.push_back(1 + until - given);
            given = until;
        }
        return windows;
    }
    std::uint32_t of_slot(std::uint32_t slot) const { return of_slot_[slot]; }
    std::uint32_t of_position(std::uint64_t position) const { return of_slot_[position % of_slot_.size()]; }
    /// Returns the number of positions of a share in [begin, begin + count).
    std::uint32_t num_positions(std::uint32_t share, std::uint64_t begin, std::uint32_t count) const {
        if (sizes_.size() == 1) {
            return count;
        }
        const auto slots = static_cast<std::uint32_t>(of_slot_.size());
        std::uint32_t number = count / slots * sizes_[share];
        for (std::uint32_t i = 0; i < count % slots; ++i) {
            number += of_position(begin + i) == share;
        }
        return number;
    }

private:
    std::vector<std::uint8_t> of_slot_;
    std::vector<std::uint32_t> sizes_;  // slots of each share
};

}  // namespace lanesum::transport
