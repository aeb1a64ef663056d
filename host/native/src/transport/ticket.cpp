// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/ticket.hpp"

#include <algorithm>

namespace lanesum::transport {

std::vector<std::uint32_t> JobTicket::rack_members() const {
    if (places.empty()) {
        return {static_cast<std::uint32_t>((std::uint64_t{1} << workers) - 1)};
    }
    std::uint32_t last = 0;
    for (const Place &place : places) {
        last = std::max(last, place.rack);
    }
    std::vector<std::uint32_t> bitmaps(last + 1);
    for (const Place &place : places) {
        bitmaps[place.rack] |= std::uint32_t{1} << place.bit;
    }
    return bitmaps;
}

bool name_racks(const std::vector<Place> &places) {
    for (std::uint32_t worker = 0; worker < places.size(); ++worker) {
        if (places[worker] != Place{0, worker}) {
            return true;
        }
    }
    return false;
}

}  // namespace lanesum::transport
