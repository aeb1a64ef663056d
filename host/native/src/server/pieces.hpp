// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Partial sums of one chunk; the rules and their reasons are in lanesum/server/pieces.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "protocol/spec.hpp"
#include "server/roster.hpp"

namespace lanesum::server {

enum class Fate { KEPT, DUPLICATE, OVERLAP };

/// Words of a contribution as they came.
struct Payload {
    const std::byte *bytes;
    bool wide;  ///< accumulator words already
    const std::uint8_t *code_table;
};

/// A set of workers and what they add up to, in the machine's byte order.
struct Piece {
    explicit Piece(std::size_t words)
        : sum(new(ALIGNMENT) std::uint32_t[words]), size(words) {}

    std::span<std::uint32_t> words() { return {sum.get(), size}; }
    std::span<const std::uint32_t> words() const { return {sum.get(), size}; }

    static constexpr std::align_val_t ALIGNMENT{64};  // no vector of any processor straddles cache lines
    struct Free {
        void operator()(std::uint32_t *words) const { ::operator delete[](words, ALIGNMENT); }
    };

    WorkerSet workers;
    std::unique_ptr<std::uint32_t[], Free> sum;
    std::size_t size;
};

/// Pieces that nobody needs at the time. What was needed once is kept, so that there is an end to allocating.
class PieceStore {
public:
    /// Throws std::bad_alloc, with nothing changed.
    std::unique_ptr<Piece> take(std::size_t words);
    void give(std::unique_ptr<Piece> piece) { spare_.push_back(std::move(piece)); }

private:
    std::vector<std::unique_ptr<Piece>> spare_;  // has room for all that were made: giving back never fails
    std::size_t made_ = 0;
};

/// The pieces of one entry. Once complete they are one, the sum.
class Pieces {
public:
    /// Forgets everything, for another chunk.
    void begin(LaneOp op, bool single, PieceStore &store);

    /// Takes a sum over the set ``workers``, which is not empty, and puts it into a piece of ``words`` words.
    /// Throws std::bad_alloc, with nothing changed.
    Fate add(const WorkerSet &workers, const Payload &payload, std::size_t words, PieceStore &store);

    /// The same for one worker, who needs no comparing of sets.
    Fate add(std::uint32_t worker, const Payload &payload, std::size_t words, PieceStore &store);

    /// Makes one piece of all, at least one being there.
    void join(PieceStore &store);

    /// The sum, once joined.
    std::span<const std::uint32_t> total() const { return held_.front()->words(); }

    const WorkerSet &workers() const { return workers_; }

    /// Workers in the union of all sets.
    std::uint32_t count() const { return count_; }

private:
    Fate keep(const WorkerSet &workers, const Payload &payload, std::size_t words, PieceStore &store);

    LaneOp op_ = LaneOp::ADD32;
    bool single_ = false;
    std::uint32_t count_ = 0;
    WorkerSet workers_;
    std::vector<std::unique_ptr<Piece>> held_;
};

}  // namespace lanesum::server
