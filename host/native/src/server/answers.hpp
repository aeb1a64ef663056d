// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Datagrams that the server answers with, as in lanesum/server/answers.py, and a batch of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "protocol/header.hpp"
#include "server/member_table.hpp"
#include "server/slot_table.hpp"

namespace lanesum::server {

/// Batch of answers, for one thread at a time. It copies all bytes, so that entries may change at once; all receivers
/// of a datagram share one copy.
class Answers {
public:
    struct Answer {
        sockaddr_in receiver;
        std::span<const std::byte> bytes;
        bool joined;        ///< may be sent in one super-packet with others
        std::uint32_t run;  ///< run of the slot, see SLOT_RUN
    };

    /// Allocate space for a datagram; it is valid until ``clear``. Throws std::bad_alloc.
    std::span<std::byte> allocate(std::size_t bytes);

    void add(const Member &receiver, std::span<const std::byte> bytes) { add(receiver.address, bytes); }
    void add(const sockaddr_in &receiver, std::span<const std::byte> bytes) {
        list_.push_back({receiver, bytes, joined_, run_});
    }

    /// Say whether the answers that follow may be sent in super-packets, and the run of their slot.
    void set_joined(bool joined, std::uint32_t run) {
        joined_ = joined;
        run_ = run;
    }

    std::span<const Answer> list() const { return list_; }

    /// Remove all answers but the first ``count``.
    void truncate(std::size_t count) { list_.resize(count); }

    /// Remove all answers, and keep the memory.
    void clear();

private:
    static constexpr std::size_t BLOCK_BYTES = 1 << 20;  // larger than any datagram

    std::vector<Answer> list_;
    std::vector<std::unique_ptr<std::byte[]>> blocks_;
    std::size_t block_ = 0;  // index of the block in use
    std::size_t used_ = 0;   // bytes used of it
    bool joined_ = false;
    std::uint32_t run_ = 0;
};

/// Headers of the answers of one job.
class AnswerHeaders {
public:
    AnswerHeaders(const ServerJob &job, const MemberTable &members) : job_(job), members_(members) {}

    /// Return the header of the sum over all workers.
    Header result(const Header &asked, const Owner &owner, std::uint32_t flags) const;

    /// Return the header that tells the workers of ``rack`` that the contributions of ``workers`` have arrived.
    Header pending(const Header &asked, const Owner &owner, const WorkerSet &workers, std::uint32_t rack) const;

    /// Return the header of a conflict: the contribution ``asked`` of ``offender`` disagrees with the owner.
    Header conflict(const Header &asked, const Owner &owner, const MemberIndex &offender) const;

private:
    Header header(Kind kind, std::uint32_t flags, const Header &asked, const Owner &owner) const;
    void add_fan_in(Header &header) const;

    const ServerJob &job_;
    const MemberTable &members_;
};

}  // namespace lanesum::server
