// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/slot_share.hpp"

#include <algorithm>
#include <utility>

namespace lanesum::transport {

SlotShare::SlotShare(std::shared_ptr<Link> link, std::int64_t max_window)
    : link_(std::move(link)),
      max_window_(max_window),
      scheduler_(*link_),
      recovery_(link_),
      retransmit_buffer_(link_),
      bitmaps_(link_->membership.members().size()) {}

void SlotShare::begin(const std::shared_ptr<RoundState> &round) {
    scheduler_.begin(round);
    retransmit_buffer_.begin(round->epoch(), round->batch());
}

void SlotShare::end_first() {
    retransmit_buffer_.end();
    scheduler_.pop();
}

void SlotShare::update_done() {
    for (const auto &round : scheduler_.rounds()) {
        round->done_chunks(link_->share);
    }
}

// Sending.

std::span<const Datagram> SlotShare::due(double now) {
    outbox_.clear();
    retransmit(now);
    send_first(now);
    if (retransmit_buffer_.has_requests()) {
        retransmit_buffer_.due(now, outbox_);
    }
    return outbox_.lay_out();
}

void SlotShare::retransmit(double now) {
    for (const auto &[sent, bypass, requested] : recovery_.detect_loss(now, probe_position(), scheduler_.has_free())) {
        const ChunkBatch &batch = *sent->round->batch();
        recovery_.on_retransmitted(*sent, now, bypass);
        link_->count_sent(batch.packet_bytes(sent->chunk), true, bypass, requested);
        const bool refused = bypass && sent->round->server_failed(link_->share, sent->chunk);
        outbox_.add(batch, sent->chunk,
                    FLAG_RETRANSMISSION | (bypass ? FLAG_BYPASS : 0u) | (refused ? FLAG_OVERFLOW : 0u));
    }
}

void SlotShare::send_first(double now) {
    Link &link = *link_;
    std::int64_t left = room(now);
    for (SlotScheduler::Next next = scheduler_.take_next(left); next.round != nullptr;
         next = scheduler_.take_next(--left)) {
        const ChunkBatch &batch = *next.round->batch();
        const auto chunk = static_cast<std::uint32_t>(next.position - next.round->begin());
        const bool bypass = next.round->bypasses() || link.slot_backoff.bypasses(scheduler_.slot(next.position));
        recovery_.on_packet_sent(next.position, *next.round, now, bypass);
        link.count_sent(batch.packet_bytes(chunk), false, bypass);
        if (link.pacer) {
            link.pacer->spend(1);
        }
        outbox_.add(batch, chunk, bypass ? FLAG_BYPASS : 0u);
    }
}

std::int64_t SlotShare::window() const { return std::min(max_window_, link_->congestion->congestion_window()); }

std::int64_t SlotShare::room(double now) {
    const std::int64_t left = window() - recovery_.in_flight();
    return link_->pacer ? std::min(left, link_->pacer->credit(now, window())) : left;
}

std::optional<double> SlotShare::next_timeout(double now) {
    if (retransmit_buffer_.has_requests() || recovery_.has_requests()) {
        return 0.0;
    }
    const bool more_to_send = scheduler_.has_free();
    if (recovery_.in_flight() == 0) {
        return more_to_send ? std::optional(0.0) : std::nullopt;
    }
    const std::uint64_t probe = probe_position();
    double left_s =
        recovery_.time_left(now, probe < scheduler_.released() ? std::optional(probe) : std::nullopt, more_to_send);
    if (link_->pacer && more_to_send && recovery_.in_flight() < window()) {
        left_s = std::min(left_s, link_->pacer->left_s(window()).value_or(left_s));
    }
    return std::max(0.0, left_s);
}

// Receiving.

RoundState *SlotShare::in_flight(std::uint32_t epoch) const {
    for (const auto &round : scheduler_.rounds()) {
        if (round->epoch() == epoch) {
            return round.get();
        }
    }
    return nullptr;
}

ReceiveOutcome SlotShare::receive(std::span<const std::byte> datagram, double now) {
    TransportStats &stats = link_->stats;
    const JobTicket &ticket = link_->ticket;
    ++stats.packets_received;
    stats.bytes_received += datagram.size();
    if (datagram.size() >= HEADER_BYTES) {
        const Header header = Header::unpack(datagram.data());
        if (header.version == VERSION && header.job == ticket.job && header.tag == ticket.tag) {
            link_->unanswered_probes = 0;
            RoundState *round = in_flight(header.epoch);
            if (header.kind == KIND_RESULT && round != nullptr) {
                return take_result(*round, header, datagram, now);
            }
            if (header.kind == KIND_PENDING && datagram.size() == HEADER_BYTES) {
                return take_pending(round, header, now);
            }
            if (header.kind == KIND_CONFLICT && datagram.size() == HEADER_BYTES) {
                return take_conflict(round, header);
            }
        }
    }
    ++stats.foreign_packets;
    return ReceiveOutcome::nothing;
}

ReceiveOutcome SlotShare::take_result(RoundState &round, const Header &header, std::span<const std::byte> datagram,
                                      double now) {
    Link &link = *link_;
    TransportStats &stats = link.stats;
    const std::uint32_t chunk = header.chunk;
    if (header.op != static_cast<std::uint32_t>(round.size().op) || chunk >= round.chunks() ||
        !link.owns(round.begin() + chunk)) {
        ++stats.foreign_packets;
        return ReceiveOutcome::nothing;
    }
    if (round.is_done(chunk)) {
        ++stats.duplicate_results;
        return ReceiveOutcome::nothing;
    }
    const std::uint64_t position = round.begin() + chunk;
    if (!link.membership.contributors(header, datagram, bitmaps_, round.needs_words(chunk)) ||
        !may_have_result(position)) {
        ++stats.foreign_packets;
        round.count_refused(link.share);
        return ReceiveOutcome::nothing;
    }
    if (!round.load_result(chunk, datagram, bitmaps_)) {
        return take_failed_result(round, header);
    }
    round.store_result(link.share, chunk, bitmaps_);
    const bool marked = header.flags & FLAG_ECN, collided = header.flags & FLAG_COLLISION;
    stats.ecn_marks += marked;
    stats.collisions += collided;
    stats.partial_results += (header.flags & FLAG_PARTIAL) != 0;
    stats.server_results += (header.flags & FLAG_BYPASS) != 0;
    scheduler_.on_result(position);
    link.slot_backoff.on_result(scheduler_.slot(position), collided);
    recovery_.on_ack_received(position, now, marked, (header.flags & FLAG_RETRANSMISSION) != 0);
    return ReceiveOutcome::completed;
}

ReceiveOutcome SlotShare::take_failed_result(RoundState &round, const Header &header) {
    ++link_->stats.failed_results;
    const auto [of_switches, of_server] = round.count_failed(link_->share, header);
    if (header.flags & FLAG_BYPASS && of_switches + of_server >= MAX_FAILED_RESULTS) {
        return ReceiveOutcome::failed;
    }
    // A timer repeats the request, see round_sequence.py.
    if (!(header.flags & FLAG_BYPASS) || of_server == 1) {
        recovery_.on_result_failed(round.begin() + header.chunk);
    }
    return ReceiveOutcome::nothing;
}

/// The result's contributors are in ``bitmaps_``.
bool SlotShare::may_have_result(std::uint64_t position) {
    if (recovery_.sent(position) != nullptr) {
        return true;
    }
    return scheduler_.is_free(position) && !link_->membership.includes_own(bitmaps_);
}

ReceiveOutcome SlotShare::take_pending(RoundState *round, const Header &header, double now) {
    ++link_->stats.pending_replies;
    if (round != nullptr && header.chunk < round->chunks() && !link_->owns(round->begin() + header.chunk)) {
        return ReceiveOutcome::nothing;
    }
    if (round != nullptr && !round->is_done(header.chunk)) {
        if (!(header.flags & FLAG_GONE)) {
            recovery_.on_pending_received(round->begin() + header.chunk, header, now);
        } else if (link_->ticket.quorum != 0) {
            return ReceiveOutcome::gone;
        }
    } else if (!link_->membership.has_own(header) && !(header.flags & FLAG_GONE)) {
        retransmit_buffer_.request(header.epoch, header.chunk, header.flags & FLAG_BYPASS, now);
    }
    return ReceiveOutcome::nothing;
}

ReceiveOutcome SlotShare::take_conflict(const RoundState *own, const Header &header) {
    ++link_->stats.conflicts;
    final_outbox_.clear();
    if (own != nullptr && header.chunk < own->chunks() && recovery_.sent(own->begin() + header.chunk) != nullptr) {
        link_->count_sent(own->batch()->packet_bytes(header.chunk), true, true, true);
        final_outbox_.add(*own->batch(), header.chunk, FLAG_RETRANSMISSION | FLAG_BYPASS);
    }
    final_outbox_.lay_out();
    return ReceiveOutcome::conflict;
}

}  // namespace lanesum::transport
