// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/round_sequence.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <string>
#include <utility>

namespace lanesum::transport {

namespace {

std::unique_ptr<CongestionControl> make_congestion(std::string_view name, std::int64_t max_window) {
    auto control = congestion_control(name, max_window);
    if (control == nullptr) {
        throw std::invalid_argument("unknown congestion control: " + std::string(name));
    }
    return control;
}

}  // namespace

RoundSequence::RoundSequence(const JobTicket &ticket, std::int64_t window, std::string_view congestion, bool pacing,
                             std::uint32_t shares, std::uint32_t run_slots)
    : next_epoch_(ticket.epoch) {
    if (shares == 0 || shares > SLOT_SHARES || run_slots == 0 || (ticket.quorum != 0 && shares != 1)) {
        throw std::invalid_argument("invalid number of shares");
    }
    const auto all = std::make_shared<const SlotShares>(ticket.slots, ticket.servers, shares, run_slots);
    const std::vector<std::int64_t> windows = all->divide(std::min<std::int64_t>(window, ticket.slots));
    for (std::uint32_t share = 0; share < shares; ++share) {
        const Link *first = shares_.empty() ? nullptr : &shares_.front()->link();
        auto link =
            std::make_shared<Link>(ticket, make_congestion(congestion, windows[share]), pacing, all, share, first);
        shares_.push_back(std::make_unique<SlotShare>(std::move(link), windows[share]));
    }
}

std::uint32_t RoundSequence::epoch() const { return rounds().empty() ? next_epoch_ : rounds().front()->epoch(); }

std::uint64_t RoundSequence::position() const {
    const std::uint64_t begin = rounds().empty() ? shares_.front()->end() : rounds().front()->begin();
    return begin % (std::uint64_t{2} * link().ticket.slots);
}

std::shared_ptr<RoundState> RoundSequence::start(LaneOp op, std::span<const std::uint32_t> words, bool opening,
                                                 bool scattered, bool gathered) {
    assert(can_start());
    auto round = std::make_shared<RoundState>(shares_.front()->shared_link(), op, words, next_epoch_,
                                              shares_.front()->end(), opening, scattered, gathered);
    for (const auto &share : shares_) {
        share->begin(round);
    }
    ++next_epoch_;
    return round;
}

void RoundSequence::continue_at(std::uint32_t epoch) {
    assert(rounds().empty());
    next_epoch_ = epoch;
    for (const auto &share : shares_) {
        TransportStats &stats = share->link().stats;
        const std::uint64_t foreign = stats.foreign_packets;
        stats.reset();
        stats.foreign_packets += foreign;
        stats.packets_received += foreign;
    }
}

void RoundSequence::finish(RoundState &round) {
    assert(round.complete() && !round.retired());
    ++link().stats.rounds;
    if (&round != rounds().front().get()) {
        // It waits for the rounds before it, and the caller does not keep the words for so long.
        round.batch()->keep_last(round.chunks());
    }
    round.retire();
    while (!rounds().empty() && rounds().front()->retired()) {
        for (const auto &share : shares_) {
            share->end_first();
        }
    }
}

std::span<const Datagram> RoundSequence::due(double now) {
    datagrams_.clear();
    for (const auto &share : shares_) {
        const std::span<const Datagram> due = share->due(now);
        datagrams_.insert(datagrams_.end(), due.begin(), due.end());
    }
    return datagrams_;
}

std::optional<double> RoundSequence::next_timeout(double now) {
    std::optional<double> next;
    for (const auto &share : shares_) {
        const std::optional<double> timeout_s = share->next_timeout(now);
        next = next && timeout_s ? std::min(*next, *timeout_s) : timeout_s ? timeout_s : next;
    }
    return next;
}

ReceiveOutcome RoundSequence::receive(std::span<const std::byte> datagram, double now) {
    last_receiver_ = share_of(datagram);
    SlotShare &share = *shares_[last_receiver_];
    const ReceiveOutcome outcome = share.receive(datagram, now);
    share.update_done();
    return outcome;
}

std::uint32_t RoundSequence::share_of(std::span<const std::byte> datagram) const {
    if (shares_.size() == 1 || datagram.size() < HEADER_BYTES) {
        return 0;
    }
    const Header header = Header::unpack(datagram.data());
    const SlotShares &shares = *link().shares;
    for (const auto &round : rounds()) {
        if (round->epoch() == header.epoch && header.chunk < round->chunks()) {
            return shares.of_position(round->begin() + header.chunk);
        }
    }
    return header.slot < link().ticket.slots ? shares.of_slot(header.slot) : 0;
}

std::uint64_t RoundSequence::chunks_left() const {
    std::uint64_t left = 0;
    for (const auto &round : rounds()) {
        left += round->left();
    }
    return left;
}

TransportStats::Totals RoundSequence::stats() const {
    TransportStats::Totals totals;
    for (const auto &share : shares_) {
        totals.add(share->link().stats);
    }
    return totals;
}

bool RoundSequence::answered() const {
    return std::ranges::any_of(rounds(), [](const auto &round) { return round->answered(); });
}

bool RoundSequence::target_reached() const {
    return std::ranges::any_of(rounds(), [](const auto &round) { return round->target_reached(); });
}

std::vector<std::uint32_t> RoundSequence::missing_workers() const {
    for (const auto &round : rounds()) {
        if (!round->complete()) {
            return round->missing_workers();
        }
    }
    return {};
}

}  // namespace lanesum::transport
