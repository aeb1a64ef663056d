// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Slot scheduling, as in lanesum/transport/slot_scheduler.py.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "transport/link.hpp"
#include "transport/round_state.hpp"

namespace lanesum::transport {

class SlotScheduler {
public:
    /// A position that may be sent for the first time. ``round`` is null if there is none.
    struct Next {
        RoundState *round;
        std::uint64_t position;
    };

    /// @param link of the share whose positions are scheduled; has to exist as long as this.
    explicit SlotScheduler(const Link &link)
        : link_(link), slots_(link.ticket.slots), in_step_(link.ticket.quorum != 0) {}

    void begin(std::shared_ptr<RoundState> round);
    /// Rounds in flight, in order, with complete ones behind one that is not.
    const std::deque<std::shared_ptr<RoundState>> &rounds() const { return rounds_; }
    /// Removes the first of them.
    void pop() { rounds_.pop_front(); }
    /// Position at which the next round begins.
    std::uint64_t end() const { return end_; }

    std::uint32_t slot(std::uint64_t position) const { return static_cast<std::uint32_t>(position % slots_); }
    bool has_free() const { return !free_.empty() && free_.front() < released(); }
    Next take_next(std::int64_t room);
    std::uint64_t first_unacked() const;
    void on_result(std::uint64_t position);
    bool is_free(std::uint64_t position) const { return position < slots_ || is_done(position - slots_); }
    /// Positions before this one may be sent: words of the last round may still be withheld. Small ones come first.
    std::uint64_t released() const {
        return rounds_.empty() ? end_ : rounds_.back()->begin() + rounds_.back()->released();
    }

private:
    void free(std::uint64_t position);
    void free_in_step();
    bool is_done(std::uint64_t position) const;
    RoundState *round_of(std::uint64_t position) const;

    const Link &link_;
    std::uint32_t slots_;
    bool in_step_;
    std::deque<std::shared_ptr<RoundState>> rounds_;
    std::uint64_t end_ = 0;
    std::vector<std::uint64_t> free_;  // a heap, smallest first
    std::uint64_t num_freed_ = 0;
};

}  // namespace lanesum::transport
