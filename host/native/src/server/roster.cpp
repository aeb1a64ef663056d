// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "server/roster.hpp"

#include <algorithm>

namespace lanesum::server {
namespace {

std::size_t hashed(std::uint64_t key) {
    key *= 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio spreads neighbours
    return static_cast<std::size_t>(key >> 32);
}

template <typename Visit>
void each_bit(std::uint32_t bitmap, Visit visit) {
    for (; bitmap != 0; bitmap &= bitmap - 1) {
        visit(static_cast<std::uint32_t>(std::countr_zero(bitmap)));
    }
}

}  // namespace

Roster::Roster(const ServerJob &job) : members_(job.members), two_levels_(job.two_levels) {
    by_address_.assign(std::bit_ceil(members_.size()) * 2, NOBODY);
    std::uint32_t largest = 0;
    for (const Member &member : members_) {
        largest = std::max(largest, member.place.rack);
    }
    racks_.resize(largest + 1);
    spots_.resize(largest + 1);
    for (Spots &spots : spots_) {
        spots.fill(NOBODY);
    }
    for (const Member &member : members_) {
        const Place &place = member.place;
        everybody_.insert(place.worker);
        racks_[place.rack].insert(place.worker);
        spots_[place.rack][place.bit] = place.worker;
        occupied_ |= std::uint32_t{1} << place.rack;
        std::size_t at = hashed(address_key(member.address)) & (by_address_.size() - 1);
        while (by_address_[at] != NOBODY) {
            at = (at + 1) & (by_address_.size() - 1);
        }
        by_address_[at] = place.worker;
    }
}

const Member *Roster::find(const sockaddr_in &sender) const {
    const std::uint64_t key = address_key(sender);
    for (std::size_t at = hashed(key);; ++at) {
        const std::uint32_t worker = by_address_[at & (by_address_.size() - 1)];
        if (worker == NOBODY) {
            return nullptr;
        }
        if (address_key(members_[worker].address) == key) {
            return &members_[worker];
        }
    }
}

std::optional<WorkerSet> Roster::workers_at(std::uint32_t rack, std::uint32_t bitmap) const {
    WorkerSet workers;
    bool known = bitmap != 0;
    each_bit(bitmap, [&](std::uint32_t bit) {
        const std::uint32_t worker = spots_[rack][bit];
        if (worker == NOBODY) {
            known = false;
        } else {
            workers.insert(worker);
        }
    });
    return known ? std::optional(workers) : std::nullopt;
}

std::optional<WorkerSet> Roster::workers_in_racks(std::uint32_t racks) const {
    if (racks == 0 || (racks & ~occupied_) != 0) {
        return std::nullopt;
    }
    WorkerSet workers;
    each_bit(racks, [&](std::uint32_t rack) { workers |= racks_[rack]; });
    return workers;
}

std::uint32_t Roster::bitmap(std::uint32_t rack, const WorkerSet &workers) const {
    WorkerSet here = racks_[rack];
    here &= workers;
    std::uint32_t bitmap = 0;
    here.each([&](std::uint32_t worker) { bitmap |= std::uint32_t{1} << members_[worker].place.bit; });
    return bitmap;
}

std::uint32_t Roster::complete_racks(const WorkerSet &workers) const {
    std::uint32_t complete = 0;
    each_bit(occupied_, [&](std::uint32_t rack) {
        complete |= static_cast<std::uint32_t>(workers.covers(racks_[rack])) << rack;
    });
    return complete;
}

}  // namespace lanesum::server
