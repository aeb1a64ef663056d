// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// State of one round: its packets and its results, as in lanesum/transport/round_state.py.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lanes/owners.hpp"
#include "memory/array_pool.hpp"
#include "protocol/header.hpp"
#include "transport/chunk_batch.hpp"
#include "transport/link.hpp"

namespace lanesum::transport {

/// A worker's part in a round.
struct RoundSize {
    LaneOp op;
    std::uint64_t words;
    bool scattered;
    bool gathered;
};

class RoundState {
public:
    static constexpr std::uint32_t NO_TARGET = std::numeric_limits<std::uint32_t>::max();

    /// @param words have to stay in place, unchanged, until ``retire``.
    /// @param begin running position of the first chunk, counted since the session began.
    /// @param opening the round opens the session.
    /// @param scattered each worker gets the sum of its shard, as in lanesum/transport/round_state.py.
    /// @param gathered each worker gets the shards of all, as there.
    RoundState(std::shared_ptr<Link> link, LaneOp op, std::span<const std::uint32_t> words, std::uint32_t epoch,
               std::uint64_t begin, bool opening = false, bool scattered = false, bool gathered = false);

    std::uint32_t chunks() const { return chunks_; }
    std::uint32_t epoch() const { return epoch_; }
    std::uint64_t begin() const { return begin_; }
    std::uint64_t end() const { return begin_ + chunks_; }
    const RoundSize &size() const { return size_; }
    /// All packets bypass the switches: in the opening, and in gathered rounds.
    bool bypasses() const { return bypasses_; }
    const std::shared_ptr<ChunkBatch> &batch() const { return batch_; }
    /// Accumulator words of data in a packet.
    std::size_t data_words() const { return data_words_; }
    bool certified() const { return certification_ != nullptr; }
    /// Results that failed their check, of switches and of the server, by chunk.
    using FailedResults = std::unordered_map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>>;
    FailedResults failed_results() const;
    /// Counts a result that failed its check; returns the counts of its chunk.
    std::pair<std::uint32_t, std::uint32_t> count_failed(std::uint32_t share, const Header &header);
    /// A result of the chunk from the server failed its check.
    bool server_failed(std::uint32_t share, std::uint32_t chunk) const;
    std::uint64_t refused_results() const;
    void count_refused(std::uint32_t share) { ++parts_[share].refused_results; }

    bool complete() const { return left() == 0; }
    bool complete(std::uint32_t share) const { return parts_[share].left == 0; }
    /// Chunks without a result.
    std::uint32_t left() const;
    bool answered() const;
    /// A header-only result of the chunk is not enough for this worker.
    bool needs_words(std::uint32_t chunk) const {
        return gets_words(link_->ticket.worker, owner_of(chunk, wire_size_, turns_), wire_size_);
    }
    bool is_done(std::uint32_t chunk) const { return chunk >= chunks_ || done_[chunk]; }
    /// Number of leading chunks that have their results; the next chunk is the first without one.
    std::uint32_t done_chunks();
    /// The same for the chunks of one share: all of its chunks before the returned one have their results.
    std::uint32_t done_chunks(std::uint32_t share);

    /// Sends nothing before ``release``: the words are still being encoded. Only for the last round in flight.
    void withhold() { released_ = 0; }
    /// Allows to send the first ``chunks``.
    void release(std::uint32_t chunks) { released_ = std::min(chunks, chunks_); }
    std::uint32_t released() const { return released_; }

    /// Sets the number of leading chunks whose results end ``WorkerLoop::run``.
    void set_target(std::uint32_t chunks) { target_ = chunks; }
    /// Returns true if the ``done_chunks`` of all shares, as of their last calls, reach the target; from any thread.
    bool target_reached() const;

    /// Loads a result, and returns true if it passes the check of a certified round.
    bool load_result(std::uint32_t chunk, std::span<const std::byte> datagram, std::span<const std::uint32_t> bitmaps);
    /// Stores the contributors of a result that was loaded.
    void store_result(std::uint32_t share, std::uint32_t chunk, std::span<const std::uint32_t> bitmaps);
    void note_pending(std::uint32_t share, const Header &pending);
    std::vector<std::uint32_t> missing_workers() const;

    /// Accumulator words in the machine's byte order, without padding; only those of done chunks are set.
    /// Of a gathered round, those of the first of its ``result_shards()`` shards; each follows ``result_stride()`` words later.
    std::span<std::uint32_t> result() { return {result_.get(), result_words_}; }
    std::uint32_t result_shards() const { return result_shards_; }
    std::size_t result_stride() const { return turns_.chunks * data_words_; }
    /// Bitmaps of the contributors, ``racks()`` for each chunk.
    std::span<std::uint32_t> contributors() { return contributors_; }
    std::size_t racks() const { return racks_; }

    /// Drops the packets: the caller has the result of the round.
    void retire() { batch_.reset(); }
    bool retired() const { return batch_ == nullptr; }

private:
    using Reports = std::list<std::pair<std::uint32_t, Arrived>>;

    /// State of the chunks of one share, which one thread at a time changes; aligned to cache lines.
    struct alignas(64) Part {
        std::uint32_t left = 0;
        std::uint32_t prefix_slot = 0;  // slot of done_prefix
        std::atomic<std::uint32_t> done_prefix = 0;
        std::uint64_t refused_results = 0;
        FailedResults failed_results;
        Reports arrived;  // of chunks without a result; the latest report comes last
        std::unordered_map<std::uint32_t, Reports::iterator> report_of;
    };

    std::shared_ptr<Link> link_;
    std::shared_ptr<const Certification> certification_;
    std::size_t data_words_;
    Turns turns_;
    std::uint32_t result_shards_;
    std::uint32_t chunks_;
    std::uint32_t epoch_;
    std::uint64_t begin_;
    RoundSize size_;
    std::uint32_t wire_size_;
    bool bypasses_;
    std::shared_ptr<ChunkBatch> batch_;
    std::size_t result_words_;
    std::size_t racks_;
    memory::Words result_;
    std::vector<std::uint32_t> contributors_;
    std::vector<std::uint8_t> done_;
    std::vector<Part> parts_;  // by share
    std::uint32_t released_;
    std::uint32_t target_ = NO_TARGET;
};

}  // namespace lanesum::transport
