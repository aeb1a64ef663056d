// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// The server's logic without sockets; as in lanesum/server/aggregator.py. Jobs with a quorum are known here, and served
// by somebody else.
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
#include "server/served.hpp"

namespace lanesum::server {

/// What was done with datagrams. Written by one thread at a time, read by any.
class alignas(64) Counters {  // no two threads' on one cache line
public:
    void count(const Outcome &outcome);

    std::uint64_t decisions(std::size_t decision) const { return decisions_[decision].load(std::memory_order_relaxed); }
    std::uint64_t refused(std::size_t refusal) const { return refused_[refusal].load(std::memory_order_relaxed); }

private:
    std::array<std::atomic<std::uint64_t>, DECISION_NAMES.size()> decisions_{};
    std::array<std::atomic<std::uint64_t>, REFUSAL_NAMES.size()> refused_{};
};

/// Jobs by number, as they were at some time; null for those that somebody else serves.
using Jobs = std::unordered_map<std::uint32_t, std::shared_ptr<ServedJob>>;

/// For any number of threads.
class Aggregator {
public:
    /// Serves ``job`` in place of whatever has its number.
    void admit(const ServerJob &job);

    /// Somebody else serves it.
    void leave_to_others(std::uint32_t job);

    void set_on_switches(std::uint32_t job, bool on_switches);

    void remove(std::uint32_t job);

    /// A snapshot: admitting and removing do not wait for who works with an earlier one.
    std::shared_ptr<const Jobs> jobs() const;

    /// For one more thread that handles datagrams; they stay as long as the aggregator.
    Counters &new_counters();

    /// Of all threads together, by the number of the decision or refusal.
    std::uint64_t decisions(std::size_t decision) const;
    std::uint64_t refused(std::size_t refusal) const;

private:
    template <typename Change>
    void change(Change change);

    mutable std::mutex lock_;  // guards the pointer and the list, not what jobs_ points to, which never changes
    std::shared_ptr<const Jobs> jobs_ = std::make_shared<const Jobs>();
    std::deque<Counters> counters_;
};

/// Answers to one datagram, and counts it.
///
/// @param answers where they go; with an exception (std::bad_alloc) none have.
/// @return false for a contribution to a job that somebody else serves: neither answered nor counted.
bool handle(const Jobs &jobs, const sockaddr_in &sender, std::span<const std::byte> datagram, bool congested,
            Answers &answers, Counters &counters);

}  // namespace lanesum::server
