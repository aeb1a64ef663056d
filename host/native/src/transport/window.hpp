// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// One round: its packets and what has come of it, as in lanesum/transport/window.py.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memory/array_pool.hpp"
#include "protocol/header.hpp"
#include "transport/chunk_batch.hpp"
#include "transport/link.hpp"

namespace lanesum::transport {

/// What a worker brings to a round.
struct RoundSize {
    LaneOp op;
    std::uint64_t words;
};

class RoundWindow {
public:
    /// @param words have to stay where they are, unchanged, until ``retire``.
    /// @param begin running position of the first chunk, counted since the session began.
    RoundWindow(std::shared_ptr<Link> link, LaneOp op, std::span<const std::uint32_t> words, std::uint32_t epoch,
                std::uint64_t begin);

    std::uint32_t chunks() const { return chunks_; }
    std::uint32_t epoch() const { return epoch_; }
    std::uint64_t begin() const { return begin_; }
    std::uint64_t end() const { return begin_ + chunks_; }
    const RoundSize &size() const { return size_; }
    std::uint64_t strangers() const { return strangers_; }
    const std::shared_ptr<ChunkBatch> &batch() const { return batch_; }

    bool finished() const { return left_ == 0; }
    bool answered() const { return left_ < chunks_ || !arrived_.empty(); }
    bool is_done(std::uint32_t chunk) const { return chunk >= chunks_ || done_[chunk]; }
    /// Whoever started the round has what it came to.
    bool over() const { return batch_ == nullptr; }

    /// Sends nothing that is not offered: the words are still being made. Only of the last round under way.
    void withhold() { ready_ = 0; }
    /// The words of the first ``chunks`` are as they are to be sent.
    void offer(std::uint32_t chunks) { ready_ = std::min(chunks, chunks_); }
    std::uint32_t ready() const { return ready_; }
    /// So many chunks at the beginning have their results; the next one is the first that has none.
    std::uint32_t done_chunks();

    /// Somebody waits until so many chunks at the beginning have their results (``UdpRounds::run``).
    void await(std::uint32_t chunks) { awaited_ = chunks; }
    static constexpr std::uint32_t NOBODY = std::numeric_limits<std::uint32_t>::max();
    bool reached() { return awaited_ != NOBODY && done_chunks() >= std::min(awaited_, chunks_); }

    /// A result was refused.
    void count_stranger() { ++strangers_; }
    void keep(std::uint32_t chunk, std::span<const std::byte> datagram, std::span<const std::uint32_t> bitmaps);
    void learn(const Header &pending);
    std::vector<std::uint32_t> missing_workers() const;

    /// The accumulator words in the machine's byte order, padding cut off; only those of chunks that are done are there.
    std::span<std::uint32_t> result() { return {result_.get(), result_words_}; }
    /// Bitmaps of the contributors, ``racks()`` for each chunk.
    std::span<std::uint32_t> contributors() { return contributors_; }
    std::size_t racks() const { return racks_; }

    /// The round is over: only what it came to is still needed.
    void retire();

private:
    using Heard = std::list<std::pair<std::uint32_t, Arrived>>;

    std::shared_ptr<Link> link_;
    std::uint32_t chunks_;
    std::uint32_t epoch_;
    std::uint64_t begin_;
    RoundSize size_;
    std::uint64_t strangers_ = 0;
    std::shared_ptr<ChunkBatch> batch_;
    std::size_t result_words_;
    std::size_t accumulator_words_;
    std::size_t racks_;
    memory::Words result_;
    std::vector<std::uint32_t> contributors_;
    std::vector<std::uint8_t> done_;
    std::uint32_t low_ = 0;
    std::uint32_t left_;
    std::uint32_t ready_;
    std::uint32_t awaited_ = NOBODY;
    Heard arrived_;  // chunks without a result; what was heard of last comes last
    std::unordered_map<std::uint32_t, Heard::iterator> heard_of_;
};

}  // namespace lanesum::transport
