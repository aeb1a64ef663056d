// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/membership.hpp"

#include <algorithm>
#include <bit>

namespace lanesum::transport {

Membership::Membership(const JobTicket &ticket)
    : members_(ticket.rack_members()),
      quorum_(ticket.quorum),
      places_(ticket.places),
      place_(ticket.place()),
      result_bytes_(HEADER_BYTES + ticket.accumulator_words * WORD_BYTES) {
    for (std::uint32_t worker = 0; places_.size() < ticket.workers; ++worker) {
        places_.push_back({0, worker});
    }
    two_levels_ = name_racks(places_);
    for (std::uint32_t rack = 0; rack < members_.size(); ++rack) {
        racks_ |= static_cast<std::uint32_t>(members_[rack] != 0) << rack;
    }
}

bool Membership::contributors(const Header &header, std::span<const std::byte> datagram,
                              std::span<std::uint32_t> bitmaps, bool needs_words) const {
    const bool has_trailer = two_levels_ && (header.flags & FLAG_PARTIAL);
    const std::size_t trailer_bytes = has_trailer ? members_.size() * WORD_BYTES : 0;
    if (datagram.size() != result_bytes_ + trailer_bytes &&
        (needs_words || datagram.size() != HEADER_BYTES + trailer_bytes)) {
        return false;
    }
    if (!(header.flags & FLAG_PARTIAL)) {
        const bool named = two_levels_ ? header.racks == racks_ : header.workers == members_[0];
        if (!named) {
            return false;
        }
        std::ranges::copy(members_, bitmaps.begin());
        return true;
    }
    if (quorum_ == 0) {
        return false;
    }
    const std::byte *const trailer = datagram.data() + datagram.size() - trailer_bytes;
    if (two_levels_) {
        std::uint32_t racks = 0;
        for (std::size_t rack = 0; rack < bitmaps.size(); ++rack) {
            bitmaps[rack] = load_be32(trailer + rack * WORD_BYTES);
            racks |= static_cast<std::uint32_t>(bitmaps[rack] != 0) << rack;
        }
        if (header.racks != racks) {
            return false;
        }
    } else {
        bitmaps[0] = header.workers;
    }
    std::uint32_t count = 0;
    for (std::size_t rack = 0; rack < bitmaps.size(); ++rack) {
        if (bitmaps[rack] & ~members_[rack]) {
            return false;
        }
        count += static_cast<std::uint32_t>(std::popcount(bitmaps[rack]));
    }
    return count >= quorum_;
}

std::vector<std::uint32_t> Membership::only(std::uint32_t worker) const {
    std::vector<std::uint32_t> bitmaps(members_.size());
    bitmaps[places_[worker].rack] = std::uint32_t{1} << places_[worker].bit;
    return bitmaps;
}

bool Membership::has_own(const Header &pending) const {
    if (pending.flags & FLAG_UPPER) {
        return pending.racks >> place_.rack & 1;
    }
    return pending.workers >> place_.bit & 1;
}

Arrived Membership::update_arrived(const Arrived &known, const Header &pending) const {
    if (!two_levels_) {
        return {pending.workers, std::nullopt};
    }
    if (pending.flags & FLAG_UPPER) {
        const bool complete = pending.racks >> place_.rack & 1;
        return {complete ? std::optional(members_[place_.rack]) : known.own_rack, pending.racks};
    }
    // The server reports both levels, a rack switch its own.
    return {pending.workers, pending.flags & FLAG_BYPASS ? std::optional(pending.racks) : known.racks};
}

std::vector<std::uint32_t> Membership::missing(const Arrived &arrived) const {
    std::vector<std::uint32_t> workers;
    for (std::uint32_t worker = 0; worker < places_.size(); ++worker) {
        const auto [rack, bit] = places_[worker];
        const bool known = rack == place_.rack && arrived.own_rack.has_value();
        if (known ? !(*arrived.own_rack >> bit & 1) : arrived.racks && !(*arrived.racks >> rack & 1)) {
            workers.push_back(worker);
        }
    }
    return workers;
}

}  // namespace lanesum::transport
