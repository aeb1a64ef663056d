// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// One round as a state machine without sockets or clocks, as in lanesum/transport/window.py.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "protocol/header.hpp"
#include "transport/chunk_batch.hpp"
#include "transport/link.hpp"
#include "transport/outbox.hpp"
#include "transport/words.hpp"

namespace lanesum::transport {

/// What a worker brings to a round.
struct RoundSize {
    LaneOp op;
    std::uint64_t words;
};

class RoundWindow {
public:
    /// @param words have to stay where they are, unchanged, until ``retire``.
    RoundWindow(std::shared_ptr<Link> link, LaneOp op, std::span<const std::uint32_t> words, std::uint32_t epoch,
                std::uint64_t position, std::int64_t most);

    std::uint32_t chunks() const { return chunks_; }
    std::uint32_t epoch() const { return epoch_; }
    const RoundSize &size() const { return size_; }
    std::uint64_t strangers() const { return strangers_; }
    const std::shared_ptr<ChunkBatch> &batch() const { return batch_; }

    bool finished() const { return left_ == 0; }
    bool answered() const { return left_ < chunks_ || first_arrived_ != NONE; }
    bool is_done(std::uint32_t chunk) const { return chunk >= chunks_ || done_[chunk]; }

    /// Sends nothing that is not offered: the words are still being made.
    void withhold() { ready_ = 0; }
    /// The words of the first ``chunks`` are as they are to be sent.
    void offer(std::uint32_t chunks) { ready_ = std::min(chunks, chunks_); }
    /// So many chunks at the beginning have their results.
    std::uint32_t done_chunks() { return first_left(); }

    void due(double now, Outbox &outbox);
    std::optional<double> next_timeout(double now);
    bool take_result(const Header &header, std::span<const std::byte> datagram, double now);
    void take_pending(const Header &header, double now);
    void past_switches(std::uint32_t chunk, Outbox &outbox);
    std::vector<std::uint32_t> missing_workers() const;

    /// The accumulator words in the machine's byte order, padding cut off; only those of chunks that are done are there.
    std::span<std::uint32_t> result() { return {result_.get(), result_words_}; }
    /// Bitmaps of the contributors, ``racks()`` for each chunk.
    std::span<std::uint32_t> contributors() { return contributors_; }
    std::size_t racks() const { return racks_; }

    /// The round is over: only what it came to is still needed.
    void retire();

private:
    static constexpr std::uint32_t NONE = std::numeric_limits<std::uint32_t>::max();

    /// A chunk that was sent and has no result yet; in the order of sending, and of the last pending answer.
    struct Outstanding {
        double first_sent_at;
        std::int64_t first_sequence;  // on its path, as ``sequence``
        std::int64_t first_on_link;
        double sent_at;
        std::int64_t sequence;
        std::uint32_t chunk;
        std::uint32_t resends;
        std::uint32_t tries;
        std::uint32_t before, after;                  // in the order of sending
        std::uint32_t arrived_before, arrived_after;  // in the order in which they were heard of
        Arrived arrived;
        bool under_way = false;
        bool bypass;
        bool bypassed;
        bool heard_of;
        bool asked;
        bool asked_bypass;
        bool lost;
    };
    /// What is under way on one path, and what was heard there.
    struct Flight {
        ServerPath *path;
        std::uint32_t first = NONE, last = NONE;  // entries in the order of sending
        std::int64_t newest_answered = -1;
        std::uint32_t back_off = 1;
        double last_result_at = -std::numeric_limits<double>::infinity();

        double quick_left(const Outstanding &state, double since, double now) const;
        double timer_left(const Outstanding &state, double now) const;
    };
    struct Lost {
        std::uint32_t chunk;
        bool bypass;
        bool asked;
    };

    Outstanding &entry(std::uint32_t chunk) { return entries_[chunk % static_cast<std::uint32_t>(entries_.size())]; }
    /// Null unless the chunk is under way.
    Outstanding *outstanding(std::uint32_t chunk);
    void append(std::uint32_t chunk);
    void remove(Outstanding &state);
    void append_arrived(Outstanding &state);
    void remove_arrived(Outstanding &state);
    void ask(Outstanding &state, bool bypass);

    void open(std::uint32_t chunk);
    /// Something could be sent for the first time; what is not ready cannot, and the smallest are ready first.
    bool has_open() const { return !open_.empty() && open_.front() < ready_; }
    std::uint32_t slot(std::uint32_t chunk) const;
    Flight &flight(std::uint32_t chunk);
    std::uint32_t first_left();
    void free_slot(std::uint32_t chunk);
    bool is_open(std::uint32_t chunk) const;
    void find_lost(double now);
    bool try_again(Outstanding &state, std::uint32_t patience) const;
    template <typename Visit>
    void each_overtaken(double now, Visit visit);
    Outstanding *timed();
    bool may_have_result(std::uint32_t chunk, std::span<const std::uint32_t> bitmaps);

    std::shared_ptr<Link> link_;
    std::uint32_t chunks_;
    std::uint32_t epoch_;
    RoundSize size_;
    std::uint64_t strangers_ = 0;
    std::shared_ptr<ChunkBatch> batch_;
    std::uint64_t position_;
    std::int64_t most_;
    std::uint32_t slots_;
    std::size_t result_words_;
    std::size_t accumulator_words_;
    std::size_t racks_;
    Words result_;
    std::vector<std::uint32_t> contributors_;
    std::vector<std::uint32_t> bitmaps_;  // of the result that is looked at
    std::vector<std::uint8_t> done_;
    std::vector<Outstanding> entries_;  // by slot: no two chunks of a slot are under way
    std::vector<Flight> flights_;  // by number of the server
    std::int64_t newest_on_link_ = -1;
    std::uint32_t first_arrived_ = NONE, last_arrived_ = NONE;  // in the order in which they were heard of
    std::int64_t under_way_ = 0;
    std::vector<std::uint32_t> open_;  // a heap, smallest first
    std::uint32_t low_ = 0;
    std::uint32_t opened_;
    std::uint32_t left_;
    std::uint32_t ready_;
    std::vector<std::uint32_t> asked_;  // chunks in the order of asking; some may have their result since
    std::size_t asked_count_ = 0;       // without those
    std::vector<Lost> lost_;
};

}  // namespace lanesum::transport
