// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/rounds.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace lanesum::transport {

RoundSequence::RoundSequence(JobTicket ticket, std::int64_t window, std::unique_ptr<CongestionControl> congestion)
    : link_(std::make_shared<Link>(std::move(ticket), std::move(congestion))),
      epoch_(link_->ticket.epoch),
      most_(std::min<std::int64_t>(window, link_->ticket.slots)),
      history_(link_) {}

std::shared_ptr<RoundWindow> RoundSequence::start(LaneOp op, std::span<const std::uint32_t> words) {
    assert(window_ == nullptr);
    window_ = std::make_shared<RoundWindow>(link_, op, words, epoch_, position_, most_);
    history_.begin(epoch_, window_->batch());
    return window_;
}

void RoundSequence::finish() {
    assert(window_ != nullptr && window_->finished());
    history_.end();
    position_ = (position_ + window_->chunks()) % (std::uint64_t{2} * link_->ticket.slots);
    ++epoch_;
    ++link_->stats.rounds;
    window_->retire();
    window_.reset();
}

std::span<const Datagram> RoundSequence::due(double now) {
    outbox_.clear();
    if (window_ != nullptr) {
        window_->due(now, outbox_);
    }
    if (history_.asked()) {
        history_.due(now, outbox_);
    }
    return outbox_.lay_out();
}

std::optional<double> RoundSequence::next_timeout(double now) {
    if (history_.asked()) {
        return 0.0;
    }
    return window_ == nullptr ? std::nullopt : window_->next_timeout(now);
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
            if (header.kind == KIND_RESULT && window_ != nullptr && header.epoch == window_->epoch()) {
                return window_->take_result(header, datagram, now) ? Taken::completed : Taken::nothing;
            }
            if (header.kind == KIND_PENDING && datagram.size() == HEADER_BYTES) {
                return take_pending(header, now);
            }
            if (header.kind == KIND_CONFLICT && datagram.size() == HEADER_BYTES) {
                return take_conflict(header);
            }
        }
    }
    ++stats.foreign_packets;
    return Taken::nothing;
}

Taken RoundSequence::take_pending(const Header &header, double now) {
    ++link_->stats.pending_replies;
    if (window_ != nullptr && header.epoch == window_->epoch() && !window_->is_done(header.chunk)) {
        if (!(header.flags & FLAG_GONE)) {
            window_->take_pending(header, now);
        } else if (link_->ticket.quorum != 0) {
            return Taken::gone;
        }
    } else if (!link_->membership.has_mine(header) && !(header.flags & FLAG_GONE)) {
        history_.ask(header.epoch, header.chunk, header.flags & FLAG_BYPASS, now);
    }
    return Taken::nothing;
}

Taken RoundSequence::take_conflict(const Header &header) {
    ++link_->stats.conflicts;
    last_words_.clear();
    if (window_ != nullptr && window_->epoch() == header.epoch) {
        window_->past_switches(header.chunk, last_words_);
    }
    last_words_.lay_out();
    return Taken::conflict;
}

std::vector<std::uint32_t> RoundSequence::missing_workers() const {
    return window_ == nullptr ? std::vector<std::uint32_t>{} : window_->missing_workers();
}

}  // namespace lanesum::transport
