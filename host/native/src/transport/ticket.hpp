// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// What a worker's rounds must know of its ticket, as in lanesum/transport/ticket.py, where it is checked.
#pragma once

#include <cstdint>
#include <vector>

namespace lanesum::transport {

/// Rack, and bit of the rack's bitmap.
struct Place {
    std::uint32_t rack;
    std::uint32_t bit;

    bool operator==(const Place &) const = default;
};

struct JobTicket {
    std::uint32_t job;
    std::uint32_t tag;
    std::uint32_t worker;
    std::uint32_t workers;
    std::uint32_t slots;
    std::uint32_t accumulator_words;
    std::uint32_t epoch;
    std::uint32_t quorum;
    std::vector<Place> places;  // of every worker; empty with one level
    std::uint32_t servers = 1;  // slot s belongs to number s % servers

    Place place() const { return places.empty() ? Place{0, worker} : places[worker]; }

    /// Bitmap of the workers of every rack; one bitmap with one level.
    std::vector<std::uint32_t> rack_members() const;
};

/// Whether results name racks and not workers, as ``name_racks`` in Python; ``places`` of all workers by number.
bool name_racks(const std::vector<Place> &places);

}  // namespace lanesum::transport
