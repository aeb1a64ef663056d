// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// One job without a quorum: takes contributions of its members and returns answers, as in lanesum/server/served_job.py.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <variant>

#include "server/answers.hpp"
#include "server/member_table.hpp"
#include "server/slot_table.hpp"

namespace lanesum::server {

enum class Refusal : std::uint32_t {
    MALFORMED,
    VERSION,
    KIND,
    MEMBER,
    TAG,
    SLOT,
    OPERATION,
    OWNER,
    SIZE,
    FORGED,
    BITMAP,
};
inline constexpr std::array<const char *, 11> REFUSAL_NAMES = {
    "malformed",         "other version",     "not a contribution",    "not a member",
    "wrong tag",         "slot out of range", "operation not allowed", "wrong owner",
    "other packet size", "forged aggregate",  "impossible bitmap",
};

using Outcome = std::variant<ServerDecision, Refusal>;

/// Thread-safe state of one job.
class ServedJob {
public:
    explicit ServedJob(const ServerJob &job);

    /// Count a contribution and add the answers to ``answers``. Throws std::bad_alloc.
    Outcome contribute(const sockaddr_in &sender, const Header &header, const std::byte *payload, bool congested,
                       Answers &answers);

    /// Change the one setting that may change under a tag.
    void set_on_switches(bool on_switches) { on_switches_.store(on_switches, std::memory_order_relaxed); }

    const ServerJob &job() const { return job_; }

    ServerSlotTable &slots() { return slots_; }

private:
    /// Return the contributors of a packet: the number of its sender, or a set.
    std::variant<Refusal, std::uint32_t, WorkerSet> check(const Header &header, const MemberIndex &sender,
                                                          bool on_switches) const;
    template <typename Workers>
    ServerDecision answer(const Header &header, const MemberIndex &sender, const Workers &workers,
                          const Payload &payload, std::uint32_t flags, bool on_switches, Answers &answers);
    std::optional<std::uint32_t> owner_of(const Header &header) const;
    template <typename Workers>
    void answer_result(const Header &asked, const ServerEntry &entry, const Header &result, const Workers &workers,
                       Answers &answers) const;
    void answer_all(std::span<const std::byte> datagram, Answers &answers) const;
    void answer_pending(const Header &asked, const ServerEntry &entry, const MemberIndex &sender,
                        Answers &answers) const;
    std::span<const std::byte> packed(const Header &header, std::span<const std::uint32_t> words,
                                      Answers &answers) const;

    const ServerJob job_;
    const MemberTable members_;
    const AnswerHeaders headers_;
    ServerSlotTable slots_;
    std::atomic<bool> on_switches_;
};

}  // namespace lanesum::server
