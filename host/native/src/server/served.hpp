// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// One job without a quorum: its members' contributions in, answers out; as in lanesum/server/served.py.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "server/answers.hpp"
#include "server/ledger.hpp"
#include "server/roster.hpp"

namespace lanesum::server {

enum class Refusal : std::uint32_t {
    MALFORMED,
    VERSION,
    KIND,
    MEMBER,
    TAG,
    SLOT,
    OPERATION,
    SIZE,
    FORGED,
    BITMAP,
};
inline constexpr std::array<const char *, 10> REFUSAL_NAMES = {
    "malformed",         "other version",         "not a contribution", "not a member",     "wrong tag",
    "slot out of range", "operation not allowed", "other packet size",  "forged aggregate", "impossible bitmap",
};

using Outcome = std::variant<Decision, Refusal>;

/// For any number of threads.
class ServedJob {
public:
    explicit ServedJob(const ServerJob &job);

    /// Takes a contribution, and adds who gets which datagram to ``answers``. Throws std::bad_alloc.
    Outcome contribute(const sockaddr_in &sender, const Header &header, const std::byte *payload, bool congested,
                       Answers &answers);

    /// What may change under a tag.
    void set_on_switches(bool on_switches) { on_switches_.store(on_switches, std::memory_order_relaxed); }

    const ServerJob &job() const { return job_; }

    Ledger &ledger() { return ledger_; }

private:
    /// Who a packet is the sum of: its sender, or a set.
    std::variant<Refusal, std::uint32_t, WorkerSet> check(const Header &header, const Place &place,
                                                          bool on_switches) const;
    template <typename Workers>
    Decision take(const Header &header, const Place &place, const Workers &workers, const Payload &payload,
                  std::uint32_t flags, bool on_switches, Answers &answers);
    void answer_everybody(std::span<const std::byte> datagram, Answers &answers) const;
    void answer_pending(const Header &asked, const Entry &entry, const Place &place, Answers &answers) const;
    std::span<const std::byte> packed(const Header &header, std::span<const std::uint32_t> words,
                                      Answers &answers) const;

    const ServerJob job_;
    const Roster roster_;
    const AnswerHeaders headers_;
    Ledger ledger_;
    std::atomic<bool> on_switches_;
};

}  // namespace lanesum::server
