// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// The datagrams that the server answers with (as in lanesum/server/answers.py), and a batch of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "protocol/header.hpp"
#include "server/ledger.hpp"
#include "server/roster.hpp"

namespace lanesum::server {

/// Answers to some datagrams. They have their own copies of everything, so that entries may change at once; one copy
/// serves all its receivers. For one thread at a time.
class Answers {
public:
    struct Answer {
        sockaddr_in to;
        std::span<const std::byte> bytes;
    };

    /// Space for a datagram; it stays until ``clear``. Throws std::bad_alloc.
    std::span<std::byte> room(std::size_t bytes);

    void add(const Member &to, std::span<const std::byte> bytes) { add(to.address, bytes); }
    void add(const sockaddr_in &to, std::span<const std::byte> bytes) { list_.push_back({to, bytes}); }

    std::span<const Answer> list() const { return list_; }

    /// Takes back what was added after there were ``many``.
    void cut(std::size_t many) { list_.resize(many); }

    /// Forgets all, and keeps the memory.
    void clear();

private:
    static constexpr std::size_t BLOCK_BYTES = 1 << 20;  // more than any datagram

    std::vector<Answer> list_;
    std::vector<std::unique_ptr<std::byte[]>> blocks_;
    std::size_t block_ = 0;  // the one being filled
    std::size_t used_ = 0;   // of it
};

/// Headers of answers to an entry of ``job``.
class AnswerHeaders {
public:
    AnswerHeaders(const ServerJob &job, const Roster &roster) : job_(job), roster_(roster) {}

    /// Of the sum over everybody.
    Header result(const Header &asked, const Owner &owner, std::uint32_t flags) const;

    /// To those in ``rack``: the set ``workers`` is there.
    Header pending(const Header &asked, const Owner &owner, const WorkerSet &workers, std::uint32_t rack) const;

    Header conflict(const Header &asked, const Owner &owner, const Place &offender) const;

private:
    Header header(Kind kind, std::uint32_t flags, const Header &asked, const Owner &owner) const;
    void add_fan_in(Header &header) const;

    const ServerJob &job_;
    const Roster &roster_;
};

}  // namespace lanesum::server
