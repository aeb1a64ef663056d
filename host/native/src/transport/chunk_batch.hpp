// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// All contributions of one round, as ``ChunkBatch`` in lanesum/protocol/packet.py. But a packet is laid out only when it
// is sent, in a buffer that is still in the cache when the kernel reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lanes/owners.hpp"
#include "protocol/header.hpp"
#include "transport/certification.hpp"

namespace lanesum::transport {

class ChunkBatch {
public:
    /// @param header fields that all packets have in common; its ``words`` is set here.
    /// @param words of the whole round; have to exist as long as the batch, or until ``keep_last``. The last packet is
    ///        padded with zeros.
    /// @param data_words words of data in a packet of ``packet_words``.
    /// @param turns the words are equal shards, whose packets take turns.
    /// @param own the words are one of as many shards, this one; the packets of the others have a header alone.
    /// @param certification makes the other words; null if there are none.
    ChunkBatch(Header header, std::span<const std::uint32_t> words, std::uint32_t chunks, std::size_t packet_words,
               std::size_t data_words, Turns turns, std::optional<std::uint32_t> own, std::uint64_t position,
               std::uint32_t slots, std::shared_ptr<const Certification> certification);

    /// The first chunk that is kept.
    std::uint32_t first() const { return first_; }
    std::uint32_t size() const { return chunks_ - first_; }
    bool has(std::uint32_t chunk) const { return first_ <= chunk && chunk < chunks_; }
    std::uint32_t slot(std::uint32_t chunk) const { return static_cast<std::uint32_t>((position_ + chunk) % slots_); }
    std::size_t packet_bytes(std::uint32_t chunk) const {
        return HEADER_BYTES + (has_words(chunk) ? packet_words_ * WORD_BYTES : 0);
    }

    /// Writes the UDP payload of one chunk, ``packet_bytes(chunk)`` long.
    void lay_out(std::uint32_t chunk, std::uint32_t flags, std::byte *packet) const;

    /// Drops all but the last ``chunks`` packets, and copies their words.
    void keep_last(std::uint32_t chunks);

private:
    bool has_words(std::uint32_t chunk) const { return !own_ || turns_.place(chunk).first == *own_; }
    std::span<const std::uint32_t> words_of(std::uint32_t chunk) const;

    std::byte template_[HEADER_BYTES];
    std::span<const std::uint32_t> words_;  // of chunk first_ and later
    std::vector<std::uint32_t> kept_;
    std::uint32_t first_ = 0;
    std::uint32_t chunks_;
    std::size_t packet_words_;
    std::size_t data_words_;
    Turns turns_;
    std::optional<std::uint32_t> own_;
    std::uint32_t round_size_;
    std::uint64_t position_;
    std::uint32_t slots_;
    std::shared_ptr<const Certification> certification_;
    LaneOp op_;
    std::uint32_t epoch_;
};

}  // namespace lanesum::transport
