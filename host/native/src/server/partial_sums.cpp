// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "server/partial_sums.hpp"

#include <algorithm>
#include <utility>

#include "lanes/lanes.hpp"

namespace lanesum::server {
namespace {

void combine(LaneOp op, std::span<std::uint32_t> sum, const Payload &payload, bool first) {
    if (payload.bytes != nullptr) {
        contribute(op, sum, payload.bytes, payload.wide, payload.code_table, first);
    } else if (first) {
        std::ranges::fill(sum, 0);
    }
}

}  // namespace

std::unique_ptr<PartialSum> PartialSumPool::acquire(std::size_t words) {
    if (free_.empty()) {
        free_.reserve(allocated_ + 1);
        std::unique_ptr<PartialSum> sum = std::make_unique<PartialSum>(words);
        ++allocated_;
        return sum;
    }
    std::unique_ptr<PartialSum> sum = std::move(free_.back());
    free_.pop_back();
    return sum;
}

void PartialSums::reset(LaneOp op, bool single_workers, PartialSumPool &pool) {
    op_ = op;
    single_workers_ = single_workers;
    workers_ = {};
    count_ = 0;
    for (std::unique_ptr<PartialSum> &sum : sums_) {
        pool.release(std::move(sum));
    }
    sums_.clear();
}

Acceptance PartialSums::add(std::uint32_t worker, const Payload &payload, std::size_t words, PartialSumPool &pool) {
    if (workers_.has(worker)) {
        return Acceptance::DUPLICATE;
    }
    if (single_workers_ && !sums_.empty()) {
        PartialSum &sum = *sums_.front();
        combine(op_, sum.words(), payload, false);
        sum.workers.insert(worker);
        workers_.insert(worker);
        ++count_;
        return Acceptance::ACCEPTED;
    }
    return accept(WorkerSet::of(worker), payload, words, pool);
}

// INV-1: no worker is in two of the sums that ``merge_all`` adds.
Acceptance PartialSums::add(const WorkerSet &workers, const Payload &payload, std::size_t words, PartialSumPool &pool) {
    if (workers_.covers(workers)) {
        return Acceptance::DUPLICATE;
    }
    if (!workers_.intersects(workers)) {
        return accept(workers, payload, words, pool);
    }
    WorkerSet replaced;
    for (const std::unique_ptr<PartialSum> &sum : sums_) {
        if (sum->workers.intersects(workers)) {
            replaced |= sum->workers;
        }
    }
    if (!workers.covers(replaced) && workers.count() <= replaced.count()) {
        return Acceptance::OVERLAP;
    }
    for (std::size_t i = 0; i < sums_.size();) {
        if (sums_[i]->workers.intersects(workers)) {
            pool.release(std::move(sums_[i]));
            sums_[i] = std::move(sums_.back());
            sums_.pop_back();
        } else {
            ++i;
        }
    }
    workers_ -= replaced;
    return accept(workers, payload, words, pool);
}

Acceptance PartialSums::accept(const WorkerSet &workers, const Payload &payload, std::size_t words,
                               PartialSumPool &pool) {
    if (single_workers_ && !sums_.empty()) {
        PartialSum &sum = *sums_.front();
        combine(op_, sum.words(), payload, false);
        sum.workers |= workers;
    } else {
        std::unique_ptr<PartialSum> sum = pool.acquire(words);
        combine(op_, sum->words(), payload, true);
        sum->workers = workers;
        sums_.push_back(std::move(sum));
    }
    workers_ |= workers;
    count_ = workers_.count();
    return Acceptance::ACCEPTED;
}

void PartialSums::merge_all(PartialSumPool &pool) {
    PartialSum &all = *sums_.front();
    while (sums_.size() > 1) {
        merge(op_, all.words(), sums_.back()->words());
        pool.release(std::move(sums_.back()));
        sums_.pop_back();
    }
    all.workers = workers_;
}

}  // namespace lanesum::server
