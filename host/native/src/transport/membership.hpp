// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Contributors of results and workers missing in pending answers, as in lanesum/transport/membership.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "protocol/header.hpp"
#include "transport/ticket.hpp"

namespace lanesum::transport {

/// Contributions to one chunk that have arrived, as pending answers report them.
struct Arrived {
    std::optional<std::uint32_t> own_rack;
    std::optional<std::uint32_t> racks;
};

class Membership {
public:
    explicit Membership(const JobTicket &ticket);

    /// Bitmap of the workers of every rack; one bitmap with one level.
    const std::vector<std::uint32_t> &members() const { return members_; }

    /// Writes the contributors of a result to ``bitmaps``, one per rack. Returns false, with ``bitmaps`` undefined, if
    /// the worker must refuse the result.
    /// @param needs_words a header-only result is not valid.
    bool contributors(const Header &header, std::span<const std::byte> datagram, std::span<std::uint32_t> bitmaps,
                      bool needs_words) const;
    /// Returns the bitmaps of one worker alone.
    std::vector<std::uint32_t> only(std::uint32_t worker) const;

    bool includes_own(std::span<const std::uint32_t> bitmaps) const { return bitmaps[place_.rack] >> place_.bit & 1; }
    bool has_own(const Header &pending) const;
    Arrived update_arrived(const Arrived &known, const Header &pending) const;

    /// Returns the workers, by number, that a chunk waits for.
    std::vector<std::uint32_t> missing(const Arrived &arrived) const;

private:
    std::vector<std::uint32_t> members_;
    std::uint32_t quorum_;
    std::vector<Place> places_;
    Place place_;
    bool two_levels_;
    std::uint32_t racks_ = 0;
    std::size_t result_bytes_;
};

}  // namespace lanesum::transport
