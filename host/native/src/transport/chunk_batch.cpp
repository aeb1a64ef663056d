// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/chunk_batch.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lanes/lanes.hpp"

namespace lanesum::transport {

ChunkBatch::ChunkBatch(Header header, std::span<const std::uint32_t> words, std::uint32_t chunks,
                       std::size_t packet_words, std::size_t data_words, Turns turns, std::optional<std::uint32_t> own,
                       std::uint64_t position, std::uint32_t slots, std::shared_ptr<const Certification> certification)
    : words_(words),
      chunks_(chunks),
      packet_words_(packet_words),
      data_words_(data_words),
      turns_(turns),
      own_(own),
      round_size_(header.racks),
      position_(position),
      slots_(slots),
      certification_(std::move(certification)),
      op_(static_cast<LaneOp>(header.op)),
      epoch_(header.epoch) {
    header.words = header.flags = header.chunk = header.shadow = header.slot = 0;
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
    own.words = has_words(chunk) ? static_cast<std::uint32_t>(packet_words_) : 0;
    own.spare = owner_mark(owner_of(chunk, round_size_, turns_), round_size_);
    own.pack(packet);
    for (std::size_t i = 0; i < HEADER_BYTES; ++i) {
        packet[i] |= template_[i];
    }
    if (own.words == 0) {
        return;
    }
    const std::span<const std::uint32_t> present = words_of(chunk);
    std::byte *payload = packet + HEADER_BYTES;
    store_words(payload, present);
    std::memset(payload + present.size_bytes(), 0, packet_words_ * WORD_BYTES - present.size_bytes());
    if (certification_ != nullptr) {
        certification_->seal(op_, epoch_, chunk, {payload, packet_words_ * WORD_BYTES});
    }
}

/// Returns the words of data of a chunk that has words, without its padding.
std::span<const std::uint32_t> ChunkBatch::words_of(std::uint32_t chunk) const {
    if (!kept_.empty()) {
        return words_.subspan((chunk - first_) * data_words_, data_words_);
    }
    const auto [shard, index] = turns_.place(chunk);
    const std::size_t shard_words = words_.size() / (own_ ? 1 : turns_.shards);
    const std::size_t begin = std::min(index * data_words_, shard_words);
    return words_.subspan((own_ ? 0 : shard * shard_words) + begin, std::min(data_words_, shard_words - begin));
}

void ChunkBatch::keep_last(std::uint32_t chunks) {
    if (!kept_.empty() && size() <= chunks) {
        return;
    }
    const std::uint32_t first = chunks_ - std::min(chunks, size());
    // The words may already lie in kept_.
    std::vector<std::uint32_t> kept;
    kept.reserve((chunks_ - first) * data_words_);
    for (std::uint32_t chunk = first; chunk < chunks_; ++chunk) {
        if (has_words(chunk)) {
            const std::span<const std::uint32_t> present = words_of(chunk);
            kept.insert(kept.end(), present.begin(), present.end());
        }
        kept.resize((chunk + 1 - first) * data_words_);
    }
    kept_ = std::move(kept);
    words_ = kept_;
    first_ = first;
}

}  // namespace lanesum::transport
