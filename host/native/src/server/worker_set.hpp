// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "protocol/spec.hpp"

namespace lanesum::server {

/// Set of worker numbers. Its size is fixed, so that entries hold it without a pointer.
class WorkerSet {
public:
    static constexpr std::size_t MAX_SIZE = MAX_WORKERS * MAX_RACKS;

    static WorkerSet of(std::uint32_t worker) {
        WorkerSet set;
        set.insert(worker);
        return set;
    }

    void insert(std::uint32_t worker) { parts_[worker / 64] |= std::uint64_t{1} << worker % 64; }

    bool has(std::uint32_t worker) const { return (parts_[worker / 64] >> worker % 64 & 1) != 0; }

    bool empty() const { return *this == WorkerSet{}; }

    /// Return true if ``other`` is a subset.
    bool covers(const WorkerSet &other) const {
        std::uint64_t rest = 0;
        for (std::size_t i = 0; i < PARTS; ++i) {
            rest |= other.parts_[i] & ~parts_[i];
        }
        return rest == 0;
    }

    /// Return true if both sets have a worker in common.
    bool intersects(const WorkerSet &other) const {
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

    /// Call ``visit(number)`` for each worker in ascending order.
    template <typename Visit>
    void each(Visit visit) const {
        for (std::size_t i = 0; i < PARTS; ++i) {
            for (std::uint64_t left = parts_[i]; left != 0; left &= left - 1) {
                visit(static_cast<std::uint32_t>(i * 64 + static_cast<std::size_t>(std::countr_zero(left))));
            }
        }
    }

private:
    static constexpr std::size_t PARTS = MAX_SIZE / 64;

    std::array<std::uint64_t, PARTS> parts_{};
};

}  // namespace lanesum::server
