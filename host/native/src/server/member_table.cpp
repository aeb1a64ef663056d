// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "server/member_table.hpp"

#include <algorithm>

namespace lanesum::server {
namespace {

std::size_t hashed(std::uint64_t key) {
    key *= 0x9E3779B97F4A7C15;  // 2^64 / golden ratio: Fibonacci hashing spreads neighbours
    return static_cast<std::size_t>(key >> 32);
}

template <typename Visit>
void each_bit(std::uint32_t bitmap, Visit visit) {
    for (; bitmap != 0; bitmap &= bitmap - 1) {
        visit(static_cast<std::uint32_t>(std::countr_zero(bitmap)));
    }
}

}  // namespace

MemberTable::MemberTable(const ServerJob &job) : members_(job.members), two_levels_(job.two_levels) {
    by_address_.assign(std::bit_ceil(members_.size()) * 2, NO_WORKER);
    std::uint32_t largest = 0;
    for (const Member &member : members_) {
        largest = std::max(largest, member.index.rack);
    }
    workers_of_rack_.resize(largest + 1);
    workers_by_bit_.resize(largest + 1);
    for (WorkersByBit &workers : workers_by_bit_) {
        workers.fill(NO_WORKER);
    }
    for (const Member &member : members_) {
        const MemberIndex &index = member.index;
        all_workers_.insert(index.worker);
        workers_of_rack_[index.rack].insert(index.worker);
        workers_by_bit_[index.rack][index.bit] = index.worker;
        rack_bitmap_ |= std::uint32_t{1} << index.rack;
        std::size_t at = hashed(address_key(member.address)) & (by_address_.size() - 1);
        while (by_address_[at] != NO_WORKER) {
            at = (at + 1) & (by_address_.size() - 1);
        }
        by_address_[at] = index.worker;
    }
}

const Member *MemberTable::find(const sockaddr_in &sender) const {
    const std::uint64_t key = address_key(sender);
    for (std::size_t at = hashed(key);; ++at) {
        const std::uint32_t worker = by_address_[at & (by_address_.size() - 1)];
        if (worker == NO_WORKER) {
            return nullptr;
        }
        if (address_key(members_[worker].address) == key) {
            return &members_[worker];
        }
    }
}

std::optional<WorkerSet> MemberTable::workers_at(std::uint32_t rack, std::uint32_t bitmap) const {
    WorkerSet workers;
    bool known = bitmap != 0;
    each_bit(bitmap, [&](std::uint32_t bit) {
        const std::uint32_t worker = workers_by_bit_[rack][bit];
        if (worker == NO_WORKER) {
            known = false;
        } else {
            workers.insert(worker);
        }
    });
    return known ? std::optional(workers) : std::nullopt;
}

std::optional<WorkerSet> MemberTable::workers_in_racks(std::uint32_t racks) const {
    if (racks == 0 || (racks & ~rack_bitmap_) != 0) {
        return std::nullopt;
    }
    WorkerSet workers;
    each_bit(racks, [&](std::uint32_t rack) { workers |= workers_of_rack_[rack]; });
    return workers;
}

std::uint32_t MemberTable::bitmap(std::uint32_t rack, const WorkerSet &workers) const {
    WorkerSet in_rack = workers_of_rack_[rack];
    in_rack &= workers;
    std::uint32_t bitmap = 0;
    in_rack.each([&](std::uint32_t worker) { bitmap |= std::uint32_t{1} << members_[worker].index.bit; });
    return bitmap;
}

std::uint32_t MemberTable::complete_racks(const WorkerSet &workers) const {
    std::uint32_t complete = 0;
    each_bit(rack_bitmap_, [&](std::uint32_t rack) {
        complete |= static_cast<std::uint32_t>(workers.covers(workers_of_rack_[rack])) << rack;
    });
    return complete;
}

}  // namespace lanesum::server
