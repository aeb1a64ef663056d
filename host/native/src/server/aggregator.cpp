// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "server/aggregator.hpp"

#include <utility>

#include "protocol/header.hpp"

namespace lanesum::server {

// INV-4: each datagram counts, by decision or by reason of refusal.
void Counters::count(const Outcome &outcome) {
    std::atomic<std::uint64_t> &counter = std::holds_alternative<ServerDecision>(outcome)
                                              ? decisions_[static_cast<std::size_t>(std::get<ServerDecision>(outcome))]
                                              : refused_[static_cast<std::size_t>(std::get<Refusal>(outcome))];
    // There is one writer, so an atomic increment is not necessary.
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

template <typename Change>
void Aggregator::change(Change change) {
    std::shared_ptr<const Jobs> before;  // freed after the lock is released
    const std::lock_guard guard(lock_);
    auto after = std::make_shared<Jobs>(*jobs_);
    change(*after);
    before = std::exchange(jobs_, std::move(after));
}

void Aggregator::admit(const ServerJob &job) {
    auto served = std::make_shared<ServedJob>(job);
    change([&](Jobs &jobs) { jobs[job.job] = std::move(served); });
}

void Aggregator::delegate(std::uint32_t job) {
    change([&](Jobs &jobs) { jobs[job] = nullptr; });
}

void Aggregator::set_on_switches(std::uint32_t job, bool on_switches) {
    const std::shared_ptr<const Jobs> now = jobs();
    const auto found = now->find(job);
    if (found != now->end() && found->second != nullptr) {
        found->second->set_on_switches(on_switches);
    }
}

void Aggregator::remove(std::uint32_t job) {
    change([&](Jobs &jobs) { jobs.erase(job); });
}

std::shared_ptr<const Jobs> Aggregator::jobs() const {
    const std::lock_guard guard(lock_);
    return jobs_;
}

Counters &Aggregator::new_counters() {
    const std::lock_guard guard(lock_);
    return counters_.emplace_back();
}

std::uint64_t Aggregator::decisions(std::size_t decision) const {
    const std::lock_guard guard(lock_);
    std::uint64_t count = 0;
    for (const Counters &counters : counters_) {
        count += counters.decisions(decision);
    }
    return count;
}

std::uint64_t Aggregator::refused(std::size_t refusal) const {
    const std::lock_guard guard(lock_);
    std::uint64_t count = 0;
    for (const Counters &counters : counters_) {
        count += counters.refused(refusal);
    }
    return count;
}

bool handle(const Jobs &jobs, const sockaddr_in &sender, std::span<const std::byte> datagram, bool congested,
            Answers &answers, Counters &counters) {
    if (datagram.empty()) { // a worker tests its socket by it
        return true;
    }
    if (datagram.size() < HEADER_BYTES) {
        counters.count(Refusal::MALFORMED);
        return true;
    }
    const Header header = Header::unpack(datagram.data());
    if (header.version != VERSION) {
        counters.count(Refusal::VERSION);
        return true;
    }
    if (datagram.size() != HEADER_BYTES + header.words * WORD_BYTES) {
        counters.count(Refusal::MALFORMED);
        return true;
    }
    if (header.kind != KIND_CONTRIBUTION) {
        counters.count(Refusal::KIND);
        return true;
    }
    const auto found = jobs.find(header.job);
    if (found == jobs.end()) {
        counters.count(Refusal::MEMBER);
        return true;
    }
    if (found->second == nullptr) {
        answers.set_joined(false, 0);
        return false;
    }
    const ServerJob &job = found->second->job();
    answers.set_joined(job.joined_packets, header.slot / (SLOT_RUN * job.servers));
    const std::size_t before = answers.list().size();
    try {
        counters.count(found->second->contribute(sender, header, datagram.data() + HEADER_BYTES, congested, answers));
    } catch (...) {
        answers.truncate(before);
        throw;
    }
    return true;
}

}  // namespace lanesum::server
