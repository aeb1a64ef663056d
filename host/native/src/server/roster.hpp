// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Sets of workers, and the bitmaps that packets name them by; as in lanesum/server/roster.py.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/spec.hpp"
#include "server/job.hpp"

namespace lanesum::server {

/// A set of worker numbers: of fixed size, so that entries hold it without a pointer.
class WorkerSet {
public:
    static constexpr std::size_t MOST = MAX_WORKERS * MAX_RACKS;

    static WorkerSet of(std::uint32_t worker) {
        WorkerSet set;
        set.insert(worker);
        return set;
    }

    void insert(std::uint32_t worker) { parts_[worker / 64] |= std::uint64_t{1} << worker % 64; }

    bool has(std::uint32_t worker) const { return (parts_[worker / 64] >> worker % 64 & 1) != 0; }

    bool empty() const { return *this == WorkerSet{}; }

    /// Everybody in ``other`` is in here too.
    bool covers(const WorkerSet &other) const {
        std::uint64_t rest = 0;
        for (std::size_t i = 0; i < PARTS; ++i) {
            rest |= other.parts_[i] & ~parts_[i];
        }
        return rest == 0;
    }

    bool meets(const WorkerSet &other) const {
        std::uint64_t common = 0;
        for (std::size_t i = 0; i < PARTS; ++i) {
            common |= other.parts_[i] & parts_[i];
        }
        return common != 0;
    }

    std::uint32_t count() const {
        int bits = 0;
        for (const std::uint64_t part : parts_) {
            bits += std::popcount(part);
        }
        return static_cast<std::uint32_t>(bits);
    }

    WorkerSet &operator|=(const WorkerSet &other) {
        for (std::size_t i = 0; i < PARTS; ++i) {
            parts_[i] |= other.parts_[i];
        }
        return *this;
    }

    WorkerSet &operator-=(const WorkerSet &other) {
        for (std::size_t i = 0; i < PARTS; ++i) {
            parts_[i] &= ~other.parts_[i];
        }
        return *this;
    }

    WorkerSet &operator&=(const WorkerSet &other) {
        for (std::size_t i = 0; i < PARTS; ++i) {
            parts_[i] &= other.parts_[i];
        }
        return *this;
    }

    bool operator==(const WorkerSet &) const = default;

    /// Calls ``visit(number)`` for each, from the lowest.
    template <typename Visit>
    void each(Visit visit) const {
        for (std::size_t i = 0; i < PARTS; ++i) {
            for (std::uint64_t left = parts_[i]; left != 0; left &= left - 1) {
                visit(static_cast<std::uint32_t>(i * 64 + static_cast<std::size_t>(std::countr_zero(left))));
            }
        }
    }

private:
    static constexpr std::size_t PARTS = MOST / 64;

    std::array<std::uint64_t, PARTS> parts_{};
};

/// A job's members, arranged for packets.
class Roster {
public:
    explicit Roster(const ServerJob &job);

    /// Who sends from an address; null for strangers.
    const Member *find(const sockaddr_in &sender) const;

    const Member &member(std::uint32_t worker) const { return members_[worker]; }

    std::uint32_t size() const { return static_cast<std::uint32_t>(members_.size()); }

    const WorkerSet &everybody() const { return everybody_; }

    bool two_levels() const { return two_levels_; }

    /// Racks with workers in them.
    std::uint32_t racks() const { return static_cast<std::uint32_t>(std::popcount(occupied_)); }

    /// Bitmap of them.
    std::uint32_t occupied() const { return occupied_; }

    /// The set that ``bitmap`` names in ``rack``; none when a bit is nobody's, or none is set.
    std::optional<WorkerSet> workers_at(std::uint32_t rack, std::uint32_t bitmap) const;

    /// All workers of the racks in a bitmap; none when a bit is no rack's, or none is set.
    std::optional<WorkerSet> workers_in_racks(std::uint32_t racks) const;

    /// Bitmap of those of a set that are in ``rack``.
    std::uint32_t bitmap(std::uint32_t rack, const WorkerSet &workers) const;

    /// Bitmap of the racks whose workers are all in a set.
    std::uint32_t complete_racks(const WorkerSet &workers) const;

private:
    static constexpr std::uint32_t NOBODY = 0xFFFFFFFF;
    using Spots = std::array<std::uint32_t, MAX_WORKERS>;

    std::vector<Member> members_;
    WorkerSet everybody_;
    bool two_levels_;
    std::uint32_t occupied_ = 0;
    std::vector<WorkerSet> racks_;  // by rack, as far as the largest number
    std::vector<Spots> spots_;      // the worker of each bit, by rack
    std::vector<std::uint32_t> by_address_;  // worker numbers, hashed with linear probing; never more than half full
};

}  // namespace lanesum::server
