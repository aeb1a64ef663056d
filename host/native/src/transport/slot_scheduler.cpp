// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/slot_scheduler.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace lanesum::transport {

void SlotScheduler::begin(std::shared_ptr<RoundState> round) {
    const std::uint64_t begin = round->begin();
    rounds_.push_back(std::move(round));
    end_ = rounds_.back()->end();
    if (in_step_) {
        free_in_step();
        return;
    }
    for (std::uint64_t position = begin; position < std::min(end_, begin + slots_); ++position) {
        if (link_.owns(position) && is_free(position)) {
            free(position);
        }
    }
}

SlotScheduler::Next SlotScheduler::take_next(std::int64_t room) {
    while (has_free() && (room > 0 || free_.front() <= first_unacked())) {
        std::ranges::pop_heap(free_, std::greater{});
        const std::uint64_t position = free_.back();
        free_.pop_back();
        RoundState *round = round_of(position);
        if (round != nullptr && !round->is_done(static_cast<std::uint32_t>(position - round->begin()))) {
            return {round, position};
        }  // else a quorum was faster
    }
    return {nullptr, 0};
}

std::uint64_t SlotScheduler::first_unacked() const {
    for (const auto &round : rounds_) {
        if (!round->complete(link_.share)) {
            return round->begin() + round->done_chunks(link_.share);
        }
    }
    return end_;
}

void SlotScheduler::on_result(std::uint64_t position) {
    if (in_step_) {
        free_in_step();
    } else if (position + slots_ < end_) {
        free(position + slots_);
    }
}

void SlotScheduler::free(std::uint64_t position) {
    free_.push_back(position);
    std::ranges::push_heap(free_, std::greater{});
}

void SlotScheduler::free_in_step() {
    for (; num_freed_ < end_ && is_free(num_freed_); ++num_freed_) {
        free(num_freed_);
    }
}

bool SlotScheduler::is_done(std::uint64_t position) const {
    const RoundState *round = round_of(position);
    return round == nullptr || round->is_done(static_cast<std::uint32_t>(position - round->begin()));
}

RoundState *SlotScheduler::round_of(std::uint64_t position) const {
    for (const auto &round : rounds_) {
        if (position < round->end()) {
            return position >= round->begin() ? round.get() : nullptr;
        }
    }
    return nullptr;
}

}  // namespace lanesum::transport
