// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/retransmit_buffer.hpp"

#include <utility>

#include "transport/constants.hpp"

namespace lanesum::transport {

RetransmitBuffer::RetransmitBuffer(std::shared_ptr<Link> link)
    : link_(std::move(link)), max_positions_(RETRANSMIT_BUFFER_TURNS * link_->ticket.slots) {}

void RetransmitBuffer::begin(std::uint32_t epoch, std::shared_ptr<ChunkBatch> batch) {
    rounds_.push_back({epoch, std::move(batch), {}});
}

void RetransmitBuffer::end() {
    ChunkBatch &batch = *rounds_[num_finished_++].batch;
    batch.keep_last(static_cast<std::uint32_t>(max_positions_));
    num_positions_ += batch.size();
    while (num_positions_ - rounds_.front().batch->size() >= max_positions_) {
        num_positions_ -= rounds_.front().batch->size();
        rounds_.pop_front();
        --num_finished_;
    }
}

RetransmitBuffer::RoundPackets *RetransmitBuffer::find(std::uint32_t epoch) {
    if (rounds_.empty()) {
        return nullptr;
    }
    // Epochs are consecutive, and wrap. But the opening of the session, which may be the first one, is apart.
    const std::uint32_t behind = rounds_.back().epoch - epoch;
    RoundPackets &found = behind < rounds_.size() ? rounds_[rounds_.size() - 1 - behind] : rounds_.front();
    return found.epoch == epoch ? &found : nullptr;
}

void RetransmitBuffer::request(std::uint32_t epoch, std::uint32_t chunk, bool bypass, double now) {
    RoundPackets *packets = find(epoch);
    if (packets == nullptr || !packets->batch->has(chunk)) {
        return;
    }
    ChunkRequests &requests = packets->requests[chunk];
    const ServerPath &path = link_->paths[packets->batch->slot(chunk) % link_->paths.size()];
    if (now - requests.sent_at >= path.min_request_interval_s()) {
        // Two points may ask before the packet leaves; one that bypasses the switches serves both.
        requests.bypass = bypass || (requests.requested && requests.bypass);
        if (!requests.requested) {
            requests.requested = true;
            requests_.push_back({epoch, chunk});
        }
    }
}

void RetransmitBuffer::due(double now, Outbox &outbox) {
    for (const auto &[epoch, chunk] : requests_) {
        RoundPackets *packets = find(epoch);
        if (packets == nullptr || !packets->batch->has(chunk)) {
            continue;  // dropped since
        }
        ChunkRequests &requests = packets->requests[chunk];
        requests.sent_at = now;
        requests.requested = false;
        outbox.add(*packets->batch, chunk, FLAG_RETRANSMISSION | (requests.bypass ? FLAG_BYPASS : 0u));
        link_->count_sent(packets->batch->packet_bytes(chunk), true, requests.bypass, true);
    }
    requests_.clear();
}

}  // namespace lanesum::transport
