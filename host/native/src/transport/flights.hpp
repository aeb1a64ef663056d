// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Packets under way, of all rounds under way, without sockets or clocks, as in lanesum/transport/flights.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "protocol/header.hpp"
#include "transport/link.hpp"
#include "transport/outbox.hpp"
#include "transport/window.hpp"

namespace lanesum::transport {

class Flights {
public:
    Flights(std::shared_ptr<Link> link, std::int64_t most);

    void begin(std::shared_ptr<RoundWindow> window);
    /// Rounds under way, in their order, and finished ones behind one that is not.
    const std::deque<std::shared_ptr<RoundWindow>> &windows() const { return windows_; }
    /// Puts the first of them away.
    void pop() { windows_.pop_front(); }
    /// Position at which the next round begins.
    std::uint64_t end() const { return end_; }

    void due(double now, Outbox &outbox);
    std::optional<double> next_timeout(double now);
    bool take_result(RoundWindow &window, const Header &header, std::span<const std::byte> datagram, double now);
    void take_pending(RoundWindow &window, const Header &header, double now);
    void past_switches(const RoundWindow &window, std::uint32_t chunk, Outbox &outbox);

private:
    static constexpr std::uint32_t NONE = std::numeric_limits<std::uint32_t>::max();

    /// A chunk that was sent and has no result yet; linked in the order of first sends.
    struct Outstanding {
        RoundWindow *window;
        std::uint64_t position;
        double first_sent_at;
        std::int64_t first_sequence;  // on its path, as ``sequence``
        std::int64_t first_on_link;
        double sent_at;
        std::int64_t sequence;
        std::uint32_t chunk;
        std::uint32_t retransmissions;
        std::uint32_t tries;
        std::uint32_t before, after;
        bool under_way = false;
        bool bypass;
        bool bypassed;
        bool asked;
        bool asked_bypass;
        bool probed;
        bool lost;
    };
    /// What is under way on one path, and what was heard there.
    struct Flight {
        ServerPath *path;
        std::uint32_t first = NONE, last = NONE;  // entries in the order of first sends
        std::int64_t newest_answered = -1;
        std::uint32_t back_off = 1;
        double last_result_at = -std::numeric_limits<double>::infinity();
        std::int64_t probed_from = 0;
        std::uint32_t credit = 0;

        double quick_left(const Outstanding &state, double since, double now) const;
        double timer_left(const Outstanding &state, double now) const;
    };
    struct Lost {
        Outstanding *state;
        bool bypass;
        bool asked;
    };

    std::uint32_t slot(std::uint64_t position) const { return static_cast<std::uint32_t>(position % slots_); }
    /// Null unless the position is under way.
    Outstanding *outstanding(std::uint64_t position);
    Outstanding &append(std::uint64_t position);
    void remove(Outstanding &state);
    void ask(Outstanding &state, bool bypass);

    void open(std::uint64_t position);
    /// Positions before this one may be sent: of the last round words may still be in the making.
    std::uint64_t ready() const;
    /// Something could be sent for the first time; what is not ready cannot, and the smallest are ready first.
    bool has_open() const { return !open_.empty() && open_.front() < ready(); }
    std::int64_t window() const;
    std::int64_t room_at(double now);
    Flight &flight(std::uint64_t position);
    RoundWindow *window_of(std::uint64_t position) const;
    bool is_done(std::uint64_t position) const;
    std::uint64_t first_left() const;
    void free_slot(std::uint64_t position);
    void open_in_step();
    bool is_open(std::uint64_t position) const { return position < slots_ || is_done(position - slots_); }
    void find_lost(double now);
    void find_probably_lost();
    bool try_again(Outstanding &state, std::uint32_t patience) const;
    template <typename Visit>
    void each_overtaken(double now, Visit visit);
    Outstanding *timed() { return outstanding(first_left()); }
    bool may_have_result(std::uint64_t position, std::span<const std::uint32_t> bitmaps);

    std::shared_ptr<Link> link_;
    std::int64_t most_;
    std::uint32_t slots_;
    std::deque<std::shared_ptr<RoundWindow>> windows_;
    std::uint64_t end_ = 0;
    std::vector<std::uint32_t> bitmaps_;  // of the result that is looked at
    std::vector<Outstanding> entries_;    // by slot: no two positions of a slot are under way
    std::vector<Flight> flights_;         // by number of the server
    std::int64_t newest_on_link_ = -1;
    std::int64_t under_way_ = 0;
    std::vector<std::uint64_t> open_;  // a heap, smallest first
    std::uint64_t opened_ = 0;
    std::vector<std::uint64_t> asked_;  // positions in the order of asking; some may have their result since
    std::size_t asked_count_ = 0;       // without those
    std::vector<Lost> lost_;
};

}  // namespace lanesum::transport
