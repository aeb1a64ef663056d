// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/window.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "lanes/lanes.hpp"

namespace lanesum::transport {
namespace {

// As explained in window.py.
constexpr std::int64_t REORDERING = 8;
constexpr std::uint32_t PENDING_BACK_OFF = 4;
constexpr std::uint32_t SILENT_AFTER = 3;
constexpr std::uint32_t BYPASS_AFTER = 2;
constexpr std::uint32_t BYPASS_AFTER_QUICK = 4;
constexpr std::uint32_t MOST_BACK_OFF = 1 << 16;

std::uint32_t chunks_of(std::size_t words, std::size_t packet_words) {
    return static_cast<std::uint32_t>(std::max<std::size_t>(1, (words + packet_words - 1) / packet_words));
}

}  // namespace

RoundWindow::RoundWindow(std::shared_ptr<Link> link, LaneOp op, std::span<const std::uint32_t> words,
                         std::uint32_t epoch, std::uint64_t position, std::int64_t most)
    : link_(std::move(link)),
      chunks_(chunks_of(words.size(), uplink_words(op, link_->ticket.accumulator_words))),
      epoch_(epoch),
      size_{op, words.size()},
      position_(position),
      most_(most),
      slots_(link_->ticket.slots),
      result_words_(result_words(op, words.size())),
      accumulator_words_(link_->ticket.accumulator_words),
      racks_(link_->membership.everybody().size()),
      result_(make_words(chunks_ * accumulator_words_)),
      contributors_(chunks_ * racks_),
      bitmaps_(racks_),
      done_(chunks_),
      entries_(std::min(slots_, chunks_)),
      opened_(std::min(slots_, chunks_)),
      left_(chunks_),
      ready_(chunks_) {
    const JobTicket &ticket = link_->ticket;
    Header header;
    header.job = ticket.job;
    header.tag = ticket.tag;
    header.epoch = epoch;
    header.op = static_cast<std::uint32_t>(op);
    header.workers = std::uint32_t{1} << ticket.place().bit;
    header.racks = static_cast<std::uint32_t>(words.size());
    header.fan_in_workers = ticket.worker & 0xFF;
    flights_.reserve(link_->paths.size());
    for (ServerPath &path : link_->paths) {
        flights_.push_back({&path});
    }
    batch_ = std::make_shared<ChunkBatch>(header, words, chunks_, uplink_words(op, ticket.accumulator_words), position,
                                          slots_);
    open_.reserve(opened_);
    for (std::uint32_t chunk = 0; chunk < opened_; ++chunk) {
        open_.push_back(chunk);
    }
}

void RoundWindow::retire() {
    batch_.reset();
    entries_ = {};
    open_ = {};
}

// Chunks under way, and what is asked of them.

RoundWindow::Outstanding *RoundWindow::outstanding(std::uint32_t chunk) {
    if (chunk >= chunks_) {
        return nullptr;
    }
    Outstanding &state = entry(chunk);
    return state.under_way && state.chunk == chunk ? &state : nullptr;
}

void RoundWindow::append(std::uint32_t chunk) {
    Outstanding &state = entry(chunk);
    const auto index = static_cast<std::uint32_t>(&state - entries_.data());
    Flight &own = flight(chunk);
    state.before = own.last;
    state.after = NONE;
    (own.last == NONE ? own.first : entries_[own.last].after) = index;
    own.last = index;
    state.chunk = chunk;
    state.under_way = true;
    ++under_way_;
}

void RoundWindow::remove(Outstanding &state) {
    Flight &own = flight(state.chunk);
    (state.before == NONE ? own.first : entries_[state.before].after) = state.after;
    (state.after == NONE ? own.last : entries_[state.after].before) = state.before;
    state.under_way = false;
    --under_way_;
}

void RoundWindow::append_arrived(Outstanding &state) {
    const auto index = static_cast<std::uint32_t>(&state - entries_.data());
    state.arrived_before = last_arrived_;
    state.arrived_after = NONE;
    (last_arrived_ == NONE ? first_arrived_ : entries_[last_arrived_].arrived_after) = index;
    last_arrived_ = index;
    state.heard_of = true;
}

void RoundWindow::remove_arrived(Outstanding &state) {
    const std::uint32_t before = state.arrived_before, after = state.arrived_after;
    (before == NONE ? first_arrived_ : entries_[before].arrived_after) = after;
    (after == NONE ? last_arrived_ : entries_[after].arrived_before) = before;
    state.heard_of = false;
}

void RoundWindow::ask(Outstanding &state, bool bypass) {
    if (!state.asked) {
        state.asked = true;
        asked_.push_back(state.chunk);
        ++asked_count_;
    }
    state.asked_bypass = bypass;
}

// Sending.

void RoundWindow::due(double now, Outbox &outbox) {
    Link &link = *link_;
    const std::size_t bytes = batch_->packet_bytes();
    find_lost(now);
    for (const auto &[chunk, bypass, asked] : lost_) {
        Outstanding &state = entry(chunk);
        state.lost = false;
        state.sent_at = now;
        state.sequence = flight(chunk).path->sequence++;
        state.bypassed = bypass;
        ++state.resends;
        link.count_sent(bytes, true, bypass, asked);
        ++link.sequence;
        outbox.add(*batch_, chunk, FLAG_RESEND | (bypass ? FLAG_BYPASS : 0u));
    }
    const std::int64_t most = std::min(most_, link.congestion->packets());
    while (has_open() && (under_way_ < most || open_.front() == first_left())) {
        std::ranges::pop_heap(open_, std::greater{});
        const std::uint32_t chunk = open_.back();
        open_.pop_back();
        if (done_[chunk]) {
            continue;  // a quorum was quicker
        }
        const bool bypass = link.slots.bypass(slot(chunk));
        append(chunk);
        Outstanding &state = entry(chunk);
        state.first_sent_at = state.sent_at = now;
        state.first_sequence = state.sequence = flight(chunk).path->sequence++;
        state.first_on_link = link.sequence;
        state.bypass = state.bypassed = bypass;
        state.resends = state.tries = 0;
        state.heard_of = state.asked = state.lost = false;
        link.count_sent(bytes, false, bypass);
        ++link.sequence;
        outbox.add(*batch_, chunk, bypass ? FLAG_BYPASS : 0u);
    }
}

void RoundWindow::open(std::uint32_t chunk) {
    open_.push_back(chunk);
    std::ranges::push_heap(open_, std::greater{});
}

std::uint32_t RoundWindow::slot(std::uint32_t chunk) const {
    return static_cast<std::uint32_t>((position_ + chunk) % slots_);
}

RoundWindow::Flight &RoundWindow::flight(std::uint32_t chunk) {
    return flights_.size() == 1 ? flights_.front() : flights_[slot(chunk) % flights_.size()];
}

std::uint32_t RoundWindow::first_left() {
    while (low_ < chunks_ && done_[low_]) {
        ++low_;
    }
    return low_;
}

void RoundWindow::free_slot(std::uint32_t chunk) {
    if (link_->ticket.quorum == 0) {
        if (chunks_ - chunk > slots_) {
            open(chunk + slots_);
        }
        return;
    }
    while (opened_ < chunks_ && done_[opened_ - slots_]) {
        open(opened_);
        ++opened_;
    }
}

bool RoundWindow::is_open(std::uint32_t chunk) const { return chunk < slots_ || done_[chunk - slots_]; }

void RoundWindow::find_lost(double now) {
    lost_.clear();
    if (asked_count_ > 0) {
        for (const std::uint32_t chunk : asked_) {
            Outstanding *state = outstanding(chunk);
            if (state != nullptr && state->asked) {
                state->asked = false;
                state->lost = true;
                lost_.push_back({chunk, state->asked_bypass, true});
            }
        }
    }
    asked_.clear();
    asked_count_ = 0;
    each_overtaken(now, [&](const Flight &own, Outstanding &state, double left_s) {
        if (!state.lost && (state.sequence + REORDERING < own.newest_answered || left_s <= 0)) {
            state.lost = true;
            lost_.push_back({state.chunk, try_again(state, BYPASS_AFTER_QUICK), false});
        }
    });
    Outstanding *first = timed();
    if (first == nullptr || first->lost) {
        return;
    }
    Flight &own = flight(first->chunk);
    if (own.timer_left(*first, now) <= 0) {
        own.back_off = std::min(2 * own.back_off, MOST_BACK_OFF);
        ++link_->unanswered;
        if (link_->unanswered >= SILENT_AFTER) {
            link_->congestion->silence(link_->sequence, under_way_);
        }
        first->lost = true;
        lost_.push_back({first->chunk, try_again(*first, BYPASS_AFTER), false});
    }
}

bool RoundWindow::try_again(Outstanding &state, std::uint32_t patience) const {
    ++state.tries;
    return state.bypass || (state.tries >= patience && state.tries % 2 == 0);
}

template <typename Visit>
void RoundWindow::each_overtaken(double now, Visit visit) {
    const std::int64_t ahead = has_open() ? REORDERING : 0;
    for (const Flight &own : flights_) {
        std::uint32_t index = own.first;
        for (; index != NONE && entries_[index].first_sequence + ahead < own.newest_answered;
             index = entries_[index].after) {
            Outstanding &state = entries_[index];
            visit(own, state, own.quick_left(state, state.sent_at, now));
        }
        // Overtaken on other paths only: see window.py.
        if (index != NONE && index == own.first && entries_[index].first_on_link + ahead < newest_on_link_) {
            Outstanding &state = entries_[index];
            visit(own, state, own.quick_left(state, std::max(state.sent_at, own.last_result_at), now));
        }
    }
}

double RoundWindow::Flight::quick_left(const Outstanding &state, double since, double now) const {
    const double backed_off = path->rtt.quick_timeout_s() * (1 << std::min(state.resends, 16u));
    return since + std::min(backed_off, MAX_RTO_S) - now;
}

double RoundWindow::Flight::timer_left(const Outstanding &state, double now) const {
    const double since = std::max(state.sent_at, last_result_at);
    return since + std::min(path->rtt.timeout_s() * back_off, MAX_RTO_S) - now;
}

RoundWindow::Outstanding *RoundWindow::timed() { return outstanding(first_left()); }

std::optional<double> RoundWindow::next_timeout(double now) {
    if (asked_count_ > 0) {
        return 0.0;
    }
    if (under_way_ == 0) {
        return std::nullopt;
    }
    const Outstanding *first = timed();
    if (first == nullptr) {
        return 0.0;
    }
    double quick = std::numeric_limits<double>::infinity();
    bool overtaken = false;
    each_overtaken(now, [&](const Flight &, const Outstanding &, double left_s) {
        quick = std::min(quick, left_s);
        overtaken = true;
    });
    return std::max(0.0, std::min(flight(first->chunk).timer_left(*first, now), overtaken ? quick : MAX_RTO_S));
}

// Receiving.

bool RoundWindow::take_result(const Header &header, std::span<const std::byte> datagram, double now) {
    Link &link = *link_;
    TransportStats &stats = link.stats;
    const std::uint32_t chunk = header.chunk;
    if (header.op != static_cast<std::uint32_t>(size_.op) || chunk >= chunks_) {
        ++stats.foreign_packets;
        return false;
    }
    if (done_[chunk]) {
        ++stats.duplicate_results;
        return false;
    }
    if (!link.membership.contributors(header, datagram, bitmaps_) || !may_have_result(chunk, bitmaps_)) {
        ++stats.foreign_packets;
        ++strangers_;
        return false;
    }
    load_words({result_.get() + chunk * accumulator_words_, accumulator_words_}, datagram.data() + HEADER_BYTES);
    std::ranges::copy(bitmaps_, contributors_.begin() + static_cast<std::ptrdiff_t>(chunk * racks_));
    done_[chunk] = 1;
    --left_;
    free_slot(chunk);
    Flight &own = flight(chunk);
    own.back_off = 1;
    own.last_result_at = now;
    const bool marked = header.flags & FLAG_ECN, collided = header.flags & FLAG_COLLISION;
    stats.ecn_marks += marked;
    stats.collisions += collided;
    stats.partial_results += (header.flags & FLAG_PARTIAL) != 0;
    link.slots.result(slot(chunk), collided);
    Outstanding *state = outstanding(chunk);
    if (state != nullptr) {
        if (state->heard_of) {
            remove_arrived(*state);
        }
        if (state->asked) {
            state->asked = false;
            --asked_count_;
        }
        remove(*state);
        // Which of several sends was answered cannot be told: count the first, and do not measure (Karn's rule).
        own.newest_answered = std::max(own.newest_answered, state->first_sequence);
        newest_on_link_ = std::max(newest_on_link_, state->first_on_link);
        if (state->sequence == state->first_sequence) {
            own.path->rtt.sample(now - state->sent_at);
        }
        link.congestion->result(state->first_on_link, link.sequence, marked);
    }
    return true;
}

bool RoundWindow::may_have_result(std::uint32_t chunk, std::span<const std::uint32_t> bitmaps) {
    if (outstanding(chunk) != nullptr) {
        return true;
    }
    return is_open(chunk) && !link_->membership.includes_me(bitmaps);
}

void RoundWindow::take_pending(const Header &header, double now) {
    Outstanding *state = outstanding(header.chunk);
    if (state == nullptr) {
        return;  // not sent yet: its turn comes
    }
    const Membership &membership = link_->membership;
    if (state->heard_of) {
        remove_arrived(*state);
    } else {
        state->arrived = {};
    }
    state->arrived = membership.learn(header, state->arrived);
    append_arrived(*state);
    // The path is alive, somebody else is late: keep asking, at a gentle pace.
    Flight &own = flight(state->chunk);
    own.back_off = std::min(own.back_off, PENDING_BACK_OFF);
    const bool bypass = header.flags & FLAG_BYPASS;
    const bool elsewhere = state->bypassed != bypass;
    if (membership.has_mine(header) || (now - state->sent_at < own.path->answer_interval_s() && !elsewhere)) {
        return;
    }
    ask(*state, bypass);
    if (elsewhere && now - state->first_sent_at >= own.path->rtt.timeout_s()) {
        // The others' contributions of the other chunks under way have gone another way too: see window.py.
        for (const Flight &each : flights_) {
            for (std::uint32_t index = each.first; index != NONE; index = entries_[index].after) {
                if (entries_[index].bypassed != bypass && !entries_[index].asked) {
                    ask(entries_[index], bypass);
                }
            }
        }
    }
}

void RoundWindow::past_switches(std::uint32_t chunk, Outbox &outbox) {
    if (outstanding(chunk) == nullptr) {
        return;
    }
    link_->count_sent(batch_->packet_bytes(), true, true, true);
    outbox.add(*batch_, chunk, FLAG_RESEND | FLAG_BYPASS);
}

std::vector<std::uint32_t> RoundWindow::missing_workers() const {
    if (last_arrived_ == NONE) {
        return {};
    }
    return link_->membership.missing(entries_[last_arrived_].arrived);
}

}  // namespace lanesum::transport
