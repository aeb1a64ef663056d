// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/flights.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace lanesum::transport {
namespace {

// As explained in flights.py.
constexpr std::int64_t REORDERING = 8;
constexpr std::uint32_t PENDING_BACK_OFF = 4;
constexpr std::uint32_t SILENT_AFTER = 3;
constexpr std::uint32_t BYPASS_AFTER = 2;
constexpr std::uint32_t BYPASS_AFTER_QUICK = 4;
constexpr std::uint32_t MOST_BACK_OFF = 1 << 16;
constexpr std::uint32_t PROBES = 2;

}  // namespace

Flights::Flights(std::shared_ptr<Link> link, std::int64_t most)
    : link_(std::move(link)),
      most_(most),
      slots_(link_->ticket.slots),
      bitmaps_(link_->membership.everybody().size()),
      entries_(slots_) {
    flights_.reserve(link_->paths.size());
    for (ServerPath &path : link_->paths) {
        flights_.push_back({&path});
    }
}

void Flights::begin(std::shared_ptr<RoundWindow> window) {
    const std::uint64_t begin = window->begin();
    windows_.push_back(std::move(window));
    end_ = windows_.back()->end();
    if (link_->ticket.quorum != 0) {
        open_in_step();
        return;
    }
    for (std::uint64_t position = begin; position < std::min(end_, begin + slots_); ++position) {
        if (is_open(position)) {
            open(position);
        }
    }
}

// Chunks under way, and what is asked of them.

Flights::Outstanding *Flights::outstanding(std::uint64_t position) {
    Outstanding &state = entries_[slot(position)];
    return state.under_way && state.position == position ? &state : nullptr;
}

Flights::Outstanding &Flights::append(std::uint64_t position) {
    const std::uint32_t index = slot(position);
    Outstanding &state = entries_[index];
    Flight &own = flight(position);
    state.before = own.last;
    state.after = NONE;
    (own.last == NONE ? own.first : entries_[own.last].after) = index;
    own.last = index;
    state.position = position;
    state.under_way = true;
    ++under_way_;
    return state;
}

void Flights::remove(Outstanding &state) {
    Flight &own = flight(state.position);
    (state.before == NONE ? own.first : entries_[state.before].after) = state.after;
    (state.after == NONE ? own.last : entries_[state.after].before) = state.before;
    state.under_way = false;
    --under_way_;
}

void Flights::ask(Outstanding &state, bool bypass) {
    if (!state.asked) {
        state.asked = true;
        asked_.push_back(state.position);
        ++asked_count_;
    }
    state.asked_bypass = bypass;
}

// Sending.

void Flights::due(double now, Outbox &outbox) {
    Link &link = *link_;
    find_lost(now);
    for (const auto &[state, bypass, asked] : lost_) {
        const ChunkBatch &batch = *state->window->batch();
        state->lost = false;
        state->sent_at = now;
        state->sequence = flight(state->position).path->sequence++;
        state->bypassed = bypass;
        ++state->retransmissions;
        link.count_sent(batch.packet_bytes(), true, bypass, asked);
        ++link.sequence;
        outbox.add(batch, state->chunk, FLAG_RETRANSMISSION | (bypass ? FLAG_BYPASS : 0u));
    }
    std::int64_t room = room_at(now);
    while (has_open() && (room > 0 || open_.front() == first_left())) {
        std::ranges::pop_heap(open_, std::greater{});
        const std::uint64_t position = open_.back();
        open_.pop_back();
        RoundWindow *window = window_of(position);
        if (window == nullptr || window->is_done(static_cast<std::uint32_t>(position - window->begin()))) {
            continue;  // a quorum was quicker
        }
        const bool bypass = link.slots.bypass(slot(position));
        Outstanding &state = append(position);
        state.window = window;
        state.chunk = static_cast<std::uint32_t>(position - window->begin());
        state.first_sent_at = state.sent_at = now;
        state.first_sequence = state.sequence = flight(position).path->sequence++;
        state.first_on_link = link.sequence;
        state.bypass = state.bypassed = bypass;
        state.retransmissions = state.tries = 0;
        state.asked = state.lost = state.probed = false;
        link.count_sent(window->batch()->packet_bytes(), false, bypass);
        ++link.sequence;
        --room;
        if (link.pacer) {
            link.pacer->spend(1);
        }
        outbox.add(*window->batch(), state.chunk, bypass ? FLAG_BYPASS : 0u);
    }
}

std::int64_t Flights::window() const { return std::min(most_, link_->congestion->packets()); }

std::int64_t Flights::room_at(double now) {
    const std::int64_t room = window() - under_way_;
    return link_->pacer ? std::min(room, link_->pacer->credit(now, window())) : room;
}

void Flights::open(std::uint64_t position) {
    open_.push_back(position);
    std::ranges::push_heap(open_, std::greater{});
}

std::uint64_t Flights::ready() const {
    return windows_.empty() ? end_ : windows_.back()->begin() + windows_.back()->ready();
}

Flights::Flight &Flights::flight(std::uint64_t position) {
    return flights_.size() == 1 ? flights_.front() : flights_[slot(position) % flights_.size()];
}

RoundWindow *Flights::window_of(std::uint64_t position) const {
    for (const auto &window : windows_) {
        if (position < window->end()) {
            return position >= window->begin() ? window.get() : nullptr;
        }
    }
    return nullptr;
}

bool Flights::is_done(std::uint64_t position) const {
    const RoundWindow *window = window_of(position);
    return window == nullptr || window->is_done(static_cast<std::uint32_t>(position - window->begin()));
}

std::uint64_t Flights::first_left() const {
    for (const auto &window : windows_) {
        if (!window->finished()) {
            return window->begin() + window->done_chunks();
        }
    }
    return end_;
}

void Flights::free_slot(std::uint64_t position) {
    if (link_->ticket.quorum != 0) {
        open_in_step();
    } else if (position + slots_ < end_) {
        open(position + slots_);
    }
}

void Flights::open_in_step() {
    for (; opened_ < end_ && is_open(opened_); ++opened_) {
        open(opened_);
    }
}

void Flights::find_lost(double now) {
    lost_.clear();
    if (asked_count_ > 0) {
        for (const std::uint64_t position : asked_) {
            Outstanding *state = outstanding(position);
            if (state != nullptr && state->asked) {
                state->asked = false;
                state->lost = true;
                lost_.push_back({state, state->asked_bypass, true});
            }
        }
    }
    asked_.clear();
    asked_count_ = 0;
    each_overtaken(now, [&](const Flight &own, Outstanding &state, double left_s) {
        if (!state.lost && (state.sequence + REORDERING < own.newest_answered || left_s <= 0)) {
            if (own.path->rtt.queued()) {
                link_->congestion->loss(state.first_on_link, link_->sequence);
            }
            state.lost = true;
            state.probed = false;
            lost_.push_back({&state, try_again(state, BYPASS_AFTER_QUICK), false});
        }
    });
    Outstanding *first = timed();
    if (first != nullptr && !first->lost && flight(first->position).timer_left(*first, now) <= 0) {
        Flight &own = flight(first->position);
        own.back_off = std::min(2 * own.back_off, MOST_BACK_OFF);
        ++link_->unanswered;
        if (link_->unanswered >= SILENT_AFTER) {
            link_->congestion->silence(link_->sequence, under_way_);
        }
        first->lost = first->probed = true;
        own.probed_from = own.path->sequence;
        lost_.push_back({first, try_again(*first, BYPASS_AFTER), false});
    }
    find_probably_lost();
}

void Flights::find_probably_lost() {
    for (Flight &own : flights_) {
        for (std::uint32_t index = own.first; own.credit != 0 && index != NONE; index = entries_[index].after) {
            Outstanding &state = entries_[index];
            if (state.sequence < own.probed_from && !state.lost) {
                --own.credit;
                state.lost = state.probed = true;
                lost_.push_back({&state, try_again(state, BYPASS_AFTER), false});
            }
        }
        own.credit = 0;
    }
}

bool Flights::try_again(Outstanding &state, std::uint32_t patience) const {
    ++state.tries;
    return state.bypass || (state.tries >= patience && state.tries % 2 == 0);
}

template <typename Visit>
void Flights::each_overtaken(double now, Visit visit) {
    const std::int64_t ahead = has_open() ? REORDERING : 0;
    for (const Flight &own : flights_) {
        std::uint32_t index = own.first;
        for (; index != NONE && entries_[index].first_sequence + ahead < own.newest_answered;
             index = entries_[index].after) {
            Outstanding &state = entries_[index];
            visit(own, state, own.quick_left(state, state.sent_at, now));
        }
        // Overtaken on other paths only: see flights.py.
        if (index != NONE && index == own.first && entries_[index].first_on_link + ahead < newest_on_link_) {
            Outstanding &state = entries_[index];
            visit(own, state, own.quick_left(state, std::max(state.sent_at, own.last_result_at), now));
        }
    }
}

double Flights::Flight::quick_left(const Outstanding &state, double since, double now) const {
    const double backed_off = path->rtt.quick_timeout_s() * (1 << std::min(state.retransmissions, 16u));
    return since + std::min(backed_off, MAX_RTO_S) - now;
}

double Flights::Flight::timer_left(const Outstanding &state, double now) const {
    const double since = std::max(state.sent_at, last_result_at);
    return since + std::min(path->rtt.timeout_s() * back_off, MAX_RTO_S) - now;
}

std::optional<double> Flights::next_timeout(double now) {
    if (asked_count_ > 0 || std::ranges::any_of(flights_, [](const Flight &own) { return own.credit != 0; })) {
        return 0.0;
    }
    if (under_way_ == 0) {
        return has_open() ? std::optional(0.0) : std::nullopt;
    }
    const Outstanding *first = timed();
    if (first == nullptr && first_left() < ready()) {
        return 0.0;
    }
    double least = std::numeric_limits<double>::infinity();
    each_overtaken(now, [&](const Flight &, const Outstanding &, double left_s) { least = std::min(least, left_s); });
    least = least == std::numeric_limits<double>::infinity() ? MAX_RTO_S : least;
    if (first != nullptr) {
        least = std::min(least, flight(first->position).timer_left(*first, now));
    }
    if (link_->pacer && has_open() && under_way_ < window()) {
        least = std::min(least, link_->pacer->left_s(window()).value_or(least));
    }
    return std::max(0.0, least);
}

// Receiving.

bool Flights::take_result(RoundWindow &window, const Header &header, std::span<const std::byte> datagram, double now) {
    Link &link = *link_;
    TransportStats &stats = link.stats;
    const std::uint32_t chunk = header.chunk;
    if (header.op != static_cast<std::uint32_t>(window.size().op) || chunk >= window.chunks()) {
        ++stats.foreign_packets;
        return false;
    }
    if (window.is_done(chunk)) {
        ++stats.duplicate_results;
        return false;
    }
    const std::uint64_t position = window.begin() + chunk;
    if (!link.membership.contributors(header, datagram, bitmaps_) || !may_have_result(position, bitmaps_)) {
        ++stats.foreign_packets;
        window.count_stranger();
        return false;
    }
    window.keep(chunk, datagram, bitmaps_);
    free_slot(position);
    Flight &own = flight(position);
    own.back_off = 1;
    own.last_result_at = now;
    const bool marked = header.flags & FLAG_ECN, collided = header.flags & FLAG_COLLISION;
    stats.ecn_marks += marked;
    stats.collisions += collided;
    stats.partial_results += (header.flags & FLAG_PARTIAL) != 0;
    link.slots.result(slot(position), collided);
    Outstanding *state = outstanding(position);
    if (state != nullptr) {
        if (state->asked) {
            state->asked = false;
            --asked_count_;
        }
        remove(*state);
        // Which of several sends was answered cannot be told: count the first, and do not measure (Karn's rule).
        own.newest_answered = std::max(own.newest_answered, state->first_sequence);
        newest_on_link_ = std::max(newest_on_link_, state->first_on_link);
        stats.latency.record(now - state->first_sent_at);
        if (state->sequence == state->first_sequence) {
            own.path->rtt.sample(now - state->sent_at);
            if (link.pacer) {
                link.pacer->sample(now - state->sent_at);
            }
        } else if (state->probed && now - state->sent_at < own.path->rtt.quick_timeout_s()) {
            own.credit += PROBES;
        }
        link.congestion->result(state->first_on_link, link.sequence, marked);
    }
    return true;
}

bool Flights::may_have_result(std::uint64_t position, std::span<const std::uint32_t> bitmaps) {
    if (outstanding(position) != nullptr) {
        return true;
    }
    return is_open(position) && !link_->membership.includes_me(bitmaps);
}

void Flights::take_pending(RoundWindow &window, const Header &header, double now) {
    Outstanding *state = outstanding(window.begin() + header.chunk);
    if (state == nullptr) {
        return;  // not sent yet: its turn comes
    }
    window.learn(header);
    state->probed = false;
    // The path is alive, somebody else is late: keep asking, at a gentle pace.
    Flight &own = flight(state->position);
    own.back_off = std::min(own.back_off, PENDING_BACK_OFF);
    const bool bypass = header.flags & FLAG_BYPASS;
    const bool elsewhere = state->bypassed != bypass;
    const bool late = now - state->sent_at >= own.path->answer_interval_s();
    if (link_->membership.has_mine(header) || !(late || elsewhere)) {
        return;
    }
    ask(*state, bypass);
    if (elsewhere && now - state->first_sent_at >= own.path->rtt.timeout_s()) {
        // The others' contributions of the other chunks under way have gone another way too: see flights.py.
        for (const Flight &each : flights_) {
            for (std::uint32_t index = each.first; index != NONE; index = entries_[index].after) {
                if (entries_[index].bypassed != bypass && !entries_[index].asked) {
                    ask(entries_[index], bypass);
                }
            }
        }
    }
}

void Flights::past_switches(const RoundWindow &window, std::uint32_t chunk, Outbox &outbox) {
    if (chunk >= window.chunks() || outstanding(window.begin() + chunk) == nullptr) {
        return;
    }
    link_->count_sent(window.batch()->packet_bytes(), true, true, true);
    outbox.add(*window.batch(), chunk, FLAG_RETRANSMISSION | FLAG_BYPASS);
}

}  // namespace lanesum::transport
