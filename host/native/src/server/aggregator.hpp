// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Protocol logic of the server without sockets, as in lanesum/server/aggregator.py. Jobs with a quorum are only
// registered here: Python serves them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>

#include "server/answers.hpp"
#include "server/served_job.hpp"

namespace lanesum::server {

/// Counters of datagrams by outcome. One thread at a time writes them; any thread may read them.
class alignas(64) Counters {  // a cache line of its own: no false sharing between threads
public:
    void count(const Outcome &outcome);

    std::uint64_t decisions(std::size_t decision) const { return decisions_[decision].load(std::memory_order_relaxed); }
    std::uint64_t refused(std::size_t refusal) const { return refused_[refusal].load(std::memory_order_relaxed); }

private:
    std::array<std::atomic<std::uint64_t>, DECISION_NAMES.size()> decisions_{};
    std::array<std::atomic<std::uint64_t>, REFUSAL_NAMES.size()> refused_{};
};

/// Snapshot of the jobs by number; null for a delegated job.
using Jobs = std::unordered_map<std::uint32_t, std::shared_ptr<ServedJob>>;

/// Thread-safe set of jobs.
class Aggregator {
public:
    /// Serve ``job``, and drop any other job with its number.
    void admit(const ServerJob &job);

    /// Register a job that the caller serves: ``handle`` returns false for its contributions.
    void delegate(std::uint32_t job);

    void set_on_switches(std::uint32_t job, bool on_switches);

    void remove(std::uint32_t job);

    /// Return a snapshot. Changes do not wait for threads that use an earlier one.
    std::shared_ptr<const Jobs> jobs() const;

    /// Return counters for one more thread; they live as long as the aggregator.
    Counters &new_counters();

    /// Return the sum over all threads, by index of DECISION_NAMES or REFUSAL_NAMES.
    std::uint64_t decisions(std::size_t decision) const;
    std::uint64_t refused(std::size_t refusal) const;

private:
    template <typename Change>
    void change(Change change);

    mutable std::mutex lock_;  // guards the pointer and the list; the snapshot itself never changes
    std::shared_ptr<const Jobs> jobs_ = std::make_shared<const Jobs>();
    std::deque<Counters> counters_;
};

/// Handle one datagram: count it and add its answers to ``answers``.
///
/// Throws std::bad_alloc and adds no answer then.
/// @return false for a contribution to a delegated job, which is neither answered nor counted.
bool handle(const Jobs &jobs, const sockaddr_in &sender, std::span<const std::byte> datagram, bool congested,
            Answers &answers, Counters &counters);

}  // namespace lanesum::server
