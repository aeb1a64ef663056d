// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/history.hpp"

#include <utility>

namespace lanesum::transport {

History::History(std::shared_ptr<Link> link) : link_(std::move(link)), most_(2 * link_->ticket.slots) {}

void History::begin(std::uint32_t epoch, std::shared_ptr<ChunkBatch> batch) {
    rounds_.push_back({epoch, std::move(batch), {}});
}

void History::end() {
    ChunkBatch &batch = *rounds_[ended_++].batch;
    batch.keep_last(static_cast<std::uint32_t>(most_));
    kept_ += batch.size();
    while (kept_ - rounds_.front().batch->size() >= most_) {
        kept_ -= rounds_.front().batch->size();
        rounds_.pop_front();
        --ended_;
    }
}

History::Packets *History::find(std::uint32_t epoch) {
    // Epochs follow each other, and wrap.
    const std::uint32_t index = rounds_.empty() ? 0 : epoch - rounds_.front().epoch;
    return index < rounds_.size() ? &rounds_[index] : nullptr;
}

void History::ask(std::uint32_t epoch, std::uint32_t chunk, bool bypass, double now) {
    Packets *packets = find(epoch);
    if (packets == nullptr || !packets->batch->has(chunk)) {
        return;
    }
    Question &question = packets->questions[chunk];
    const ServerPath &path = link_->paths[packets->batch->slot(chunk) % link_->paths.size()];
    if (now - question.sent_at >= path.answer_interval_s()) {
        // Two may ask before an answer leaves; one that goes past the switches serves both.
        question.bypass = bypass || (question.asked && question.bypass);
        if (!question.asked) {
            question.asked = true;
            asked_.push_back({epoch, chunk});
        }
    }
}

void History::due(double now, Outbox &outbox) {
    for (const auto &[epoch, chunk] : asked_) {
        Packets *packets = find(epoch);
        if (packets == nullptr || !packets->batch->has(chunk)) {
            continue;  // forgotten since
        }
        Question &question = packets->questions[chunk];
        question.sent_at = now;
        question.asked = false;
        outbox.add(*packets->batch, chunk, FLAG_RETRANSMISSION | (question.bypass ? FLAG_BYPASS : 0u));
        link_->count_sent(packets->batch->packet_bytes(), true, question.bypass, true);
    }
    asked_.clear();
}

}  // namespace lanesum::transport
