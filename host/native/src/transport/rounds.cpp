// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/rounds.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace lanesum::transport {

RoundSequence::RoundSequence(JobTicket ticket, std::int64_t window, std::unique_ptr<CongestionControl> congestion,
                             bool pacing)
    : link_(std::make_shared<Link>(std::move(ticket), std::move(congestion), pacing)),
      next_epoch_(link_->ticket.epoch),
      history_(link_),
      flights_(link_, std::min<std::int64_t>(window, link_->ticket.slots)) {}

std::uint32_t RoundSequence::epoch() const {
    return flights_.windows().empty() ? next_epoch_ : flights_.windows().front()->epoch();
}

std::uint64_t RoundSequence::position() const {
    const std::uint64_t begin = flights_.windows().empty() ? flights_.end() : flights_.windows().front()->begin();
    return begin % (std::uint64_t{2} * link_->ticket.slots);
}

std::shared_ptr<RoundWindow> RoundSequence::start(LaneOp op, std::span<const std::uint32_t> words) {
    assert(can_start());
    auto window = std::make_shared<RoundWindow>(link_, op, words, next_epoch_, flights_.end());
    flights_.begin(window);
    history_.begin(next_epoch_, window->batch());
    ++next_epoch_;
    return window;
}

void RoundSequence::finish(RoundWindow &window) {
    assert(window.finished() && !window.over());
    ++link_->stats.rounds;
    if (&window != flights_.windows().front().get()) {
        // It waits for those before it, and the caller does not keep the words for so long.
        window.batch()->keep_last(window.chunks());
    }
    window.retire();
    while (!flights_.windows().empty() && flights_.windows().front()->over()) {
        history_.end();
        flights_.pop();
    }
}

std::span<const Datagram> RoundSequence::due(double now) {
    outbox_.clear();
    flights_.due(now, outbox_);
    if (history_.asked()) {
        history_.due(now, outbox_);
    }
    return outbox_.lay_out();
}

std::optional<double> RoundSequence::next_timeout(double now) {
    return history_.asked() ? 0.0 : flights_.next_timeout(now);
}

RoundWindow *RoundSequence::under_way(std::uint32_t epoch) const {
    for (const auto &window : flights_.windows()) {
        if (window->epoch() == epoch) {
            return window.get();
        }
    }
    return nullptr;
}

Taken RoundSequence::receive(std::span<const std::byte> datagram, double now) {
    TransportStats &stats = link_->stats;
    const JobTicket &ticket = link_->ticket;
    ++stats.packets_received;
    stats.bytes_received += datagram.size();
    if (datagram.size() >= HEADER_BYTES) {
        const Header header = Header::unpack(datagram.data());
        if (header.version == VERSION && header.job == ticket.job && header.tag == ticket.tag) {
            link_->unanswered = 0;
            RoundWindow *window = under_way(header.epoch);
            if (header.kind == KIND_RESULT && window != nullptr) {
                return flights_.take_result(*window, header, datagram, now) ? Taken::completed : Taken::nothing;
            }
            if (header.kind == KIND_PENDING && datagram.size() == HEADER_BYTES) {
                return take_pending(window, header, now);
            }
            if (header.kind == KIND_CONFLICT && datagram.size() == HEADER_BYTES) {
                return take_conflict(window, header);
            }
        }
    }
    ++stats.foreign_packets;
    return Taken::nothing;
}

Taken RoundSequence::take_pending(RoundWindow *window, const Header &header, double now) {
    ++link_->stats.pending_replies;
    if (window != nullptr && !window->is_done(header.chunk)) {
        if (!(header.flags & FLAG_GONE)) {
            flights_.take_pending(*window, header, now);
        } else if (link_->ticket.quorum != 0) {
            return Taken::gone;
        }
    } else if (!link_->membership.has_mine(header) && !(header.flags & FLAG_GONE)) {
        history_.ask(header.epoch, header.chunk, header.flags & FLAG_BYPASS, now);
    }
    return Taken::nothing;
}

Taken RoundSequence::take_conflict(const RoundWindow *own, const Header &header) {
    ++link_->stats.conflicts;
    last_words_.clear();
    if (own != nullptr) {
        flights_.past_switches(*own, header.chunk, last_words_);
    }
    last_words_.lay_out();
    return Taken::conflict;
}

bool RoundSequence::answered() const {
    return std::ranges::any_of(flights_.windows(), [](const auto &window) { return window->answered(); });
}

bool RoundSequence::reached() const {
    return std::ranges::any_of(flights_.windows(), [](const auto &window) { return window->reached(); });
}

std::vector<std::uint32_t> RoundSequence::missing_workers() const {
    for (const auto &window : flights_.windows()) {
        if (!window->finished()) {
            return window->missing_workers();
        }
    }
    return {};
}

}  // namespace lanesum::transport
