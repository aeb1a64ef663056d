// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Partial sums of one chunk. lanesum/server/partial_sums.py has the rules and their reasons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "protocol/spec.hpp"
#include "server/worker_set.hpp"

namespace lanesum::server {

enum class Acceptance { ACCEPTED, DUPLICATE, OVERLAP };

/// Words of a contribution, in network byte order.
struct Payload {
    const std::byte *bytes;  ///< null: all words are 0
    bool wide;  ///< true: accumulator words; false: uplink words
    const std::uint8_t *code_table;
};

/// Set of workers and the sum of their contributions, in the machine's byte order.
struct PartialSum {
    explicit PartialSum(std::size_t words) : sum(new (ALIGNMENT) std::uint32_t[words]), size(words) {}

    std::span<std::uint32_t> words() { return {sum.get(), size}; }
    std::span<const std::uint32_t> words() const { return {sum.get(), size}; }

    static constexpr std::align_val_t ALIGNMENT{64};  // a cache line: no vector straddles two of them
    struct Free {
        void operator()(std::uint32_t *words) const { ::operator delete[](words, ALIGNMENT); }
    };

    WorkerSet workers;
    std::unique_ptr<std::uint32_t[], Free> sum;
    std::size_t size;
};

/// Free partial sums. Released ones are used again, so that allocation ends once enough of them exist.
class PartialSumPool {
public:
    /// Return a partial sum with ``words`` words. Throws std::bad_alloc and changes nothing then.
    std::unique_ptr<PartialSum> acquire(std::size_t words);
    void release(std::unique_ptr<PartialSum> sum) { free_.push_back(std::move(sum)); }

private:
    std::vector<std::unique_ptr<PartialSum>> free_;  // capacity for all allocated ones: release never fails
    std::size_t allocated_ = 0;
};

/// Partial sums of one entry, over disjoint sets of workers. A complete entry has a single one.
class PartialSums {
public:
    /// Discard all partial sums, for a new chunk.
    ///
    /// @param single_workers every contribution is one worker's. Sets never overlap then, and one sum is enough.
    void reset(LaneOp op, bool single_workers, PartialSumPool &pool);

    /// Add the sum ``payload`` of ``words`` accumulator words over the non-empty set ``workers``.
    /// Throws std::bad_alloc and changes nothing then.
    Acceptance add(const WorkerSet &workers, const Payload &payload, std::size_t words, PartialSumPool &pool);

    /// Add the contribution of one worker. Comparing sets is not necessary here.
    Acceptance add(std::uint32_t worker, const Payload &payload, std::size_t words, PartialSumPool &pool);

    /// Merge all partial sums into one. There is at least one.
    void merge_all(PartialSumPool &pool);

    /// Return the sum, after ``merge_all``.
    std::span<const std::uint32_t> total() const { return sums_.front()->words(); }

    /// Return the union of all sets.
    const WorkerSet &workers() const { return workers_; }

    /// Return the number of workers in the union.
    std::uint32_t count() const { return count_; }

private:
    Acceptance accept(const WorkerSet &workers, const Payload &payload, std::size_t words, PartialSumPool &pool);

    LaneOp op_ = LaneOp::ADD32;
    bool single_workers_ = false;
    std::uint32_t count_ = 0;
    WorkerSet workers_;
    std::vector<std::unique_ptr<PartialSum>> sums_;
};

}  // namespace lanesum::server
