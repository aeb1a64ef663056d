// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "server/served_job.hpp"

#include <algorithm>

#include "lanes/owners.hpp"

namespace lanesum::server {
namespace {

constexpr std::uint32_t KEPT_FLAGS = FLAG_ECN | FLAG_COLLISION | FLAG_RETRANSMISSION;

template <typename Visit>
void each_worker(std::uint32_t worker, Visit visit) {
    visit(worker);
}

template <typename Visit>
void each_worker(const WorkerSet &workers, Visit visit) {
    workers.each(visit);
}

}  // namespace

ServedJob::ServedJob(const ServerJob &job)
    : job_(job),
      members_(job_),
      headers_(job_, members_),
      slots_(job.slots, job.servers, members_.size(), job.accumulator_words),
      on_switches_(job.on_switches) {}

// INV-5: a packet that fails one of these checks changes no entry.
std::variant<Refusal, std::uint32_t, WorkerSet> ServedJob::check(const Header &header, const MemberIndex &sender,
                                                                 bool on_switches) const {
    if (header.tag != job_.tag) {
        return Refusal::TAG;
    }
    if (header.slot >= job_.slots) {
        return Refusal::SLOT;
    }
    const bool opening = header.spare == OPENING;
    if (opening && header.chunk >= slots_.opening_chunks()) {
        return Refusal::SLOT;
    }
    if (opening ? header.op != static_cast<std::uint32_t>(LaneOp::OR) : !job_.allows(header.op)) {
        return Refusal::OPERATION;
    }
    const auto op = static_cast<LaneOp>(header.op);
    if ((header.racks & GATHERED) != 0 && shape_of(op).widens()) {
        return Refusal::OPERATION;
    }
    // A switch uses the mark as it is, because it cannot divide. Without a mark it sends all words.
    const std::optional<std::uint32_t> owner = owner_of(header);
    if ((header.racks & SCATTERED) != 0 && header.spare != 0 && header.spare != owner_mark(owner, header.racks)) {
        return Refusal::OWNER;
    }
    if ((header.flags & FLAG_UPPER) == 0) {
        const bool has_words = sends_words(sender.worker, owner, header.racks);
        if (header.words != (has_words ? uplink_words(op, job_.accumulator_words) : 0)) {
            return Refusal::SIZE;
        }
        return sender.worker;
    }
    if (!on_switches || opening) {
        return Refusal::FORGED;
    }
    if (header.words != job_.accumulator_words) {
        return Refusal::SIZE;
    }
    const std::optional<WorkerSet> workers = header.fan_in_racks != 0
                                                 ? members_.workers_in_racks(header.workers)
                                                 : members_.workers_at(sender.rack, header.workers);
    // An aggregate bears the address of one of its workers: the last contributor, or the one that retransmitted.
    if (!workers || !workers->has(sender.worker)) {
        return Refusal::BITMAP;
    }
    return *workers;
}

Outcome ServedJob::contribute(const sockaddr_in &sender, const Header &header, const std::byte *payload, bool congested,
                              Answers &answers) {
    const Member *member = members_.find(sender);
    if (member == nullptr) {
        return Refusal::MEMBER;
    }
    const MemberIndex &index = member->index;
    const bool on_switches = on_switches_.load(std::memory_order_relaxed);
    const auto checked = check(header, index, on_switches);
    if (const Refusal *refusal = std::get_if<Refusal>(&checked)) {
        return *refusal;
    }
    const std::uint32_t flags = (header.flags & KEPT_FLAGS) | (congested ? FLAG_ECN : 0u);
    // Others have no words for a worker's chunk of a gathered round.
    const Payload words{header.words == 0 ? nullptr : payload, (header.flags & FLAG_UPPER) != 0, job_.codes()};
    const std::lock_guard guard(slots_.run_of(header).lock);
    if (const std::uint32_t *worker = std::get_if<std::uint32_t>(&checked)) {
        return answer(header, index, *worker, words, flags, on_switches, answers);
    }
    return answer(header, index, std::get<WorkerSet>(checked), words, flags, on_switches, answers);
}

template <typename Workers>
ServerDecision ServedJob::answer(const Header &header, const MemberIndex &sender, const Workers &workers,
                                 const Payload &payload, std::uint32_t flags, bool on_switches, Answers &answers) {
    const auto owner = (header.racks & SCATTERED) != 0 ? owner_of(header) : std::nullopt;
    const auto [decision, found] = slots_.contribute(header, workers, payload, flags, !on_switches, owner);
    ServerEntry &entry = *found;
    switch (decision) {
        case ServerDecision::CLAIM_AND_COMPLETE:
        case ServerDecision::CONTRIBUTE_AND_COMPLETE:
            entry.partial_sums.merge_all(slots_.run_of(header).pool);
            entry.result = headers_.result(header, entry.owner, entry.flags);
            answer_result(header, entry, *entry.result, members_.all_workers(), answers);
            break;
        case ServerDecision::REPLAY: {
            // INV-2: the same words as in the first answer. A retransmitted aggregate is answered to all workers in it.
            Header replay = *entry.result;
            replay.flags |= FLAG_RETRANSMISSION | (flags & FLAG_ECN);
            answer_result(header, entry, replay, workers, answers);
            break;
        }
        case ServerDecision::REPORT_PENDING:
        case ServerDecision::REPORT_OVERLAP:
            answer_pending(header, entry, sender, answers);
            break;
        case ServerDecision::REPORT_CONFLICT: {
            const Header conflict = entry.conflict ? *entry.conflict : headers_.conflict(header, entry.owner, sender);
            if (!entry.result) {
                entry.conflict = conflict;
            }
            answer_all(packed(conflict, {}, answers), answers);
            break;
        }
        case ServerDecision::CLAIM:
        case ServerDecision::CONTRIBUTE:
        case ServerDecision::DROP_LATE:
            break;
    }
    return decision;
}

std::optional<std::uint32_t> ServedJob::owner_of(const Header &header) const {
    if ((header.racks & (SCATTERED | GATHERED)) == 0) {
        return std::nullopt;
    }
    const auto op = static_cast<LaneOp>(header.op);
    const Turns turns = Turns::of_round(op, header.racks, job_.accumulator_words, members_.size());
    return lanesum::owner_of(header.chunk, header.racks, turns);
}

// Workers that need no words of the chunk get the header alone.
template <typename Workers>
void ServedJob::answer_result(const Header &asked, const ServerEntry &entry, const Header &result,
                              const Workers &workers, Answers &answers) const {
    const std::optional<std::uint32_t> owner = owner_of(asked);
    std::span<const std::byte> full, header_only;
    each_worker(workers, [&](std::uint32_t worker) {
        const bool needs_words = gets_words(worker, owner, asked.racks);
        std::span<const std::byte> &datagram = needs_words ? full : header_only;
        if (datagram.empty()) {
            Header own = result;
            own.words = needs_words ? result.words : 0;
            datagram = packed(own, entry.partial_sums.total().first(own.words), answers);
        }
        answers.add(members_.member(worker), datagram);
    });
}

void ServedJob::answer_all(std::span<const std::byte> datagram, Answers &answers) const {
    for (std::uint32_t worker = 0; worker < members_.size(); ++worker) {
        answers.add(members_.member(worker), datagram);
    }
}

// The receivers are the sender and all workers whose contributions are missing.
void ServedJob::answer_pending(const Header &asked, const ServerEntry &entry, const MemberIndex &sender,
                               Answers &answers) const {
    const WorkerSet &arrived = entry.partial_sums.workers();
    WorkerSet receivers = members_.all_workers();
    receivers -= arrived;
    receivers.insert(sender.worker);
    std::array<std::span<const std::byte>, MAX_RACKS> datagrams{};  // by rack
    receivers.each([&](std::uint32_t worker) {
        const Member &member = members_.member(worker);
        std::span<const std::byte> &datagram = datagrams[member.index.rack];
        if (datagram.empty()) {
            datagram = packed(headers_.pending(asked, entry.owner, arrived, member.index.rack), {}, answers);
        }
        answers.add(member, datagram);
    });
}

std::span<const std::byte> ServedJob::packed(const Header &header, std::span<const std::uint32_t> words,
                                             Answers &answers) const {
    const std::span<std::byte> datagram = answers.allocate(HEADER_BYTES + words.size_bytes());
    header.pack(datagram.data());
    store_words(datagram.data() + HEADER_BYTES, words);
    return datagram;
}

}  // namespace lanesum::server
