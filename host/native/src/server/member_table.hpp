// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// The members of a job and the bitmaps that name them in packets, as in lanesum/server/member_table.py.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/spec.hpp"
#include "server/job.hpp"
#include "server/worker_set.hpp"

namespace lanesum::server {

class MemberTable {
public:
    explicit MemberTable(const ServerJob &job);

    /// Return the member with this address; null if there is none.
    const Member *find(const sockaddr_in &sender) const;

    const Member &member(std::uint32_t worker) const { return members_[worker]; }

    std::uint32_t size() const { return static_cast<std::uint32_t>(members_.size()); }

    const WorkerSet &all_workers() const { return all_workers_; }

    bool two_levels() const { return two_levels_; }

    /// Return the number of racks that have workers.
    std::uint32_t racks() const { return static_cast<std::uint32_t>(std::popcount(rack_bitmap_)); }

    /// Return the bitmap of these racks.
    std::uint32_t rack_bitmap() const { return rack_bitmap_; }

    /// Return the workers that ``bitmap`` names in ``rack``; none if it is 0 or has a bit without a worker.
    std::optional<WorkerSet> workers_at(std::uint32_t rack, std::uint32_t bitmap) const;

    /// Return all workers of the racks in a bitmap; none if it is 0 or names a rack without workers.
    std::optional<WorkerSet> workers_in_racks(std::uint32_t racks) const;

    /// Return the bitmap of those of ``workers`` that are in ``rack``.
    std::uint32_t bitmap(std::uint32_t rack, const WorkerSet &workers) const;

    /// Return the bitmap of the racks whose workers are all in ``workers``.
    std::uint32_t complete_racks(const WorkerSet &workers) const;

private:
    static constexpr std::uint32_t NO_WORKER = 0xFFFFFFFF;
    using WorkersByBit = std::array<std::uint32_t, MAX_WORKERS>;

    std::vector<Member> members_;
    WorkerSet all_workers_;
    bool two_levels_;
    std::uint32_t rack_bitmap_ = 0;
    std::vector<WorkerSet> workers_of_rack_;   // by rack number, up to the largest
    std::vector<WorkersByBit> workers_by_bit_; // by rack number
    std::vector<std::uint32_t> by_address_;    // hash table of worker numbers, linear probing, at most half full
};

}  // namespace lanesum::server
