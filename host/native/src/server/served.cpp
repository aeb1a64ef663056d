// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "server/served.hpp"

#include <algorithm>

#include "lanes/lanes.hpp"

namespace lanesum::server {
namespace {

constexpr std::uint32_t KEPT_FLAGS = FLAG_ECN | FLAG_COLLISION;

/// A switch that sends its sum again does so for all workers in it.
void answer_askers(const Roster &roster, std::uint32_t worker, std::span<const std::byte> datagram,
                   Answers &answers) {
    answers.add(roster.member(worker), datagram);
}

void answer_askers(const Roster &roster, const WorkerSet &workers, std::span<const std::byte> datagram,
                   Answers &answers) {
    workers.each([&](std::uint32_t worker) { answers.add(roster.member(worker), datagram); });
}

}  // namespace

ServedJob::ServedJob(const ServerJob &job)
    : job_(job),
      roster_(job_),
      headers_(job_, roster_),
      ledger_(job.slots, roster_.size(), job.accumulator_words),
      on_switches_(job.on_switches) {}

std::variant<Refusal, std::uint32_t, WorkerSet> ServedJob::check(const Header &header, const Place &place,
                                                                 bool on_switches) const {
    if (header.tag != job_.tag) {
        return Refusal::TAG;
    }
    if (header.slot >= job_.slots) {
        return Refusal::SLOT;
    }
    if (!job_.allows(header.op)) {
        return Refusal::OPERATION;
    }
    if ((header.flags & FLAG_UPPER) == 0) {
        if (header.words != uplink_words(static_cast<LaneOp>(header.op), job_.accumulator_words)) {
            return Refusal::SIZE;
        }
        return place.worker;
    }
    if (!on_switches) {
        return Refusal::FORGED;
    }
    if (header.words != job_.accumulator_words) {
        return Refusal::SIZE;
    }
    const std::optional<WorkerSet> workers = header.fan_in_racks != 0 ? roster_.workers_in_racks(header.workers)
                                                                      : roster_.workers_at(place.rack, header.workers);
    // The packet bears the address of a worker that it sums up: the one that completed it, or asked again.
    if (!workers || !workers->has(place.worker)) {
        return Refusal::BITMAP;
    }
    return *workers;
}

Outcome ServedJob::contribute(const sockaddr_in &sender, const Header &header, const std::byte *payload,
                              bool congested, Answers &answers) {
    const Member *member = roster_.find(sender);
    if (member == nullptr) {
        return Refusal::MEMBER;
    }
    const Place &place = member->place;
    const bool on_switches = on_switches_.load(std::memory_order_relaxed);
    const auto checked = check(header, place, on_switches);
    if (const Refusal *refusal = std::get_if<Refusal>(&checked)) {
        return *refusal;
    }
    const std::uint32_t flags = (header.flags & KEPT_FLAGS) | (congested ? FLAG_ECN : 0u);
    const Payload words{payload, (header.flags & FLAG_UPPER) != 0, job_.codes()};
    const std::lock_guard guard(ledger_.stripe(header.slot).lock);
    if (const std::uint32_t *worker = std::get_if<std::uint32_t>(&checked)) {
        return take(header, place, *worker, words, flags, on_switches, answers);
    }
    return take(header, place, std::get<WorkerSet>(checked), words, flags, on_switches, answers);
}

template <typename Workers>
Decision ServedJob::take(const Header &header, const Place &place, const Workers &workers, const Payload &payload,
                         std::uint32_t flags, bool on_switches, Answers &answers) {
    const auto [decision, found] = ledger_.take(header, workers, payload, flags, !on_switches);
    Entry &entry = *found;
    switch (decision) {
        case Decision::CLAIM_AND_COMPLETE:
        case Decision::CONTRIBUTE_AND_COMPLETE:
            entry.pieces.join(ledger_.stripe(header.slot).store);
            entry.result = headers_.result(header, entry.owner, entry.flags);
            answer_everybody(packed(*entry.result, entry.pieces.total(), answers), answers);
            break;
        case Decision::REPLAY: {
            Header replay = *entry.result;
            replay.flags |= FLAG_RETRANSMISSION | (flags & FLAG_ECN);
            answer_askers(roster_, workers, packed(replay, entry.pieces.total(), answers), answers);
            break;
        }
        case Decision::REPORT_PENDING:
        case Decision::REPORT_OVERLAP:
            answer_pending(header, entry, place, answers);
            break;
        case Decision::REPORT_CONFLICT: {
            const Header conflict = entry.conflict ? *entry.conflict : headers_.conflict(header, entry.owner, place);
            if (!entry.result) {
                entry.conflict = conflict;
            }
            answer_everybody(packed(conflict, {}, answers), answers);
            break;
        }
        case Decision::CLAIM:
        case Decision::CONTRIBUTE:
        case Decision::DROP_LATE:
            break;
    }
    return decision;
}

void ServedJob::answer_everybody(std::span<const std::byte> datagram, Answers &answers) const {
    for (std::uint32_t worker = 0; worker < roster_.size(); ++worker) {
        answers.add(roster_.member(worker), datagram);
    }
}

/// To the sender, and to everybody who is still to send.
void ServedJob::answer_pending(const Header &asked, const Entry &entry, const Place &place, Answers &answers) const {
    const WorkerSet &there = entry.pieces.workers();
    WorkerSet receivers = roster_.everybody();
    receivers -= there;
    receivers.insert(place.worker);
    std::array<std::span<const std::byte>, MAX_RACKS> made{};
    receivers.each([&](std::uint32_t worker) {
        const Member &member = roster_.member(worker);
        std::span<const std::byte> &datagram = made[member.place.rack];
        if (datagram.empty()) {
            datagram = packed(headers_.pending(asked, entry.owner, there, member.place.rack), {}, answers);
        }
        answers.add(member, datagram);
    });
}

std::span<const std::byte> ServedJob::packed(const Header &header, std::span<const std::uint32_t> words,
                                             Answers &answers) const {
    const std::span<std::byte> datagram = answers.room(HEADER_BYTES + words.size_bytes());
    header.pack(datagram.data());
    store_words(datagram.data() + HEADER_BYTES, words);
    return datagram;
}

}  // namespace lanesum::server
