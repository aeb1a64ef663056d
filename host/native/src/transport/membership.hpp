// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Who is in a result, and whom a pending answer still misses, as in lanesum/transport/membership.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "protocol/header.hpp"
#include "transport/ticket.hpp"

namespace lanesum::transport {

/// What pending answers have told of one chunk.
struct Arrived {
    std::optional<std::uint32_t> own_rack;
    std::optional<std::uint32_t> racks;
};

class Membership {
public:
    explicit Membership(const JobTicket &ticket);

    /// One bitmap of workers per rack; with one level, one bitmap.
    const std::vector<std::uint32_t> &everybody() const { return everybody_; }

    /// Writes the contributors of a result to ``bitmaps``, one per rack; false when it is none that this worker may
    /// take, and ``bitmaps`` are undefined.
    bool contributors(const Header &header, std::span<const std::byte> datagram,
                      std::span<std::uint32_t> bitmaps) const;

    bool includes_me(std::span<const std::uint32_t> bitmaps) const { return bitmaps[place_.rack] >> place_.bit & 1; }
    bool has_mine(const Header &pending) const;
    Arrived learn(const Header &pending, const Arrived &known) const;

    /// Workers, by number, that a chunk waits for.
    std::vector<std::uint32_t> missing(const Arrived &arrived) const;

private:
    std::vector<std::uint32_t> everybody_;
    std::uint32_t quorum_;
    std::vector<Place> places_;
    Place place_;
    bool two_levels_;
    std::uint32_t racks_ = 0;
    std::size_t result_bytes_;
};

}  // namespace lanesum::transport
