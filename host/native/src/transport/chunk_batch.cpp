// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/chunk_batch.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lanes/lanes.hpp"

namespace lanesum::transport {

ChunkBatch::ChunkBatch(Header header, std::span<const std::uint32_t> words, std::uint32_t chunks,
                       std::size_t packet_words, std::size_t data_words, std::uint64_t position, std::uint32_t slots,
                       std::shared_ptr<const Certification> certification)
    : words_(words),
      chunks_(chunks),
      packet_words_(packet_words),
      data_words_(data_words),
      position_(position),
      slots_(slots),
      certification_(std::move(certification)),
      op_(static_cast<LaneOp>(header.op)),
      epoch_(header.epoch) {
    header.words = static_cast<std::uint32_t>(packet_words);
    header.flags = header.chunk = header.shadow = header.slot = 0;
    header.pack(template_);
}

void ChunkBatch::lay_out(std::uint32_t chunk, std::uint32_t flags, std::byte *packet) const {
    Header own{};  // fields that differ from packet to packet, added to the others
    own.version = own.kind = own.op = 0;
    const std::uint64_t position = position_ + chunk;
    own.flags = flags;
    own.chunk = chunk;
    own.shadow = position / slots_ & 1;
    own.slot = slot(chunk);
    own.pack(packet);
    for (std::size_t i = 0; i < HEADER_BYTES; ++i) {
        packet[i] |= template_[i];
    }
    const std::size_t begin = (chunk - first_) * data_words_;
    const std::size_t present = std::min(data_words_, words_.size() - std::min(begin, words_.size()));
    std::byte *payload = packet + HEADER_BYTES;
    store_words(payload, words_.subspan(std::min(begin, words_.size()), present));
    std::memset(payload + present * WORD_BYTES, 0, (packet_words_ - present) * WORD_BYTES);
    if (certification_ != nullptr) {
        certification_->seal(op_, epoch_, chunk, {payload, packet_words_ * WORD_BYTES});
    }
}

void ChunkBatch::keep_last(std::uint32_t chunks) {
    const std::uint32_t dropped = size() - std::min(chunks, size());
    words_ = words_.subspan(std::min(dropped * data_words_, words_.size()));
    // The words may already lie in kept_.
    std::vector<std::uint32_t> kept(words_.begin(), words_.end());
    kept_ = std::move(kept);
    words_ = kept_;
    first_ += dropped;
}

}  // namespace lanesum::transport
