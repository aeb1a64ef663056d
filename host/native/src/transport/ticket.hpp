// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Data of a ticket that a worker's rounds need, as in lanesum/transport/ticket.py, which checks it.
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
    std::uint32_t servers = 1;  // slot s belongs to server s % servers
    std::uint64_t seed = 0;
    bool certified = false;  // packets have check words

    Place place() const { return places.empty() ? Place{0, worker} : places[worker]; }

    /// Bitmap of the workers of every rack; one bitmap with one level.
    std::vector<std::uint32_t> rack_members() const;
};

/// Returns true if results name racks instead of workers, as ``name_racks`` in Python; ``places``: of all workers.
bool name_racks(const std::vector<Place> &places);

}  // namespace lanesum::transport
