// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "server/answers.hpp"

namespace lanesum::server {

std::span<std::byte> Answers::allocate(std::size_t bytes) {
    if (blocks_.empty() || BLOCK_BYTES - used_ < bytes) {
        const std::size_t next = blocks_.empty() ? 0 : block_ + 1;
        if (next == blocks_.size()) {
            blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(BLOCK_BYTES));
        }
        block_ = next;
        used_ = 0;
    }
    std::byte *begin = blocks_[block_].get() + used_;
    used_ += (bytes + 63) / 64 * 64;  // each datagram begins at a cache line
    used_ = used_ < BLOCK_BYTES ? used_ : BLOCK_BYTES;
    return {begin, bytes};
}

void Answers::clear() {
    list_.clear();
    block_ = used_ = 0;
}

Header AnswerHeaders::header(Kind kind, std::uint32_t flags, const Header &asked, const Owner &owner) const {
    Header header;
    header.kind = kind;
    header.flags = flags;
    header.job = job_.job;
    header.tag = job_.tag;
    header.epoch = owner.epoch;
    header.chunk = owner.chunk;
    header.shadow = asked.shadow;
    header.slot = asked.slot;
    header.op = owner.op;
    header.spare = asked.spare == OPENING ? OPENING : 0;
    return header;
}

void AnswerHeaders::add_fan_in(Header &header) const {
    if (members_.two_levels()) {
        header.fan_in_racks = members_.racks();
    } else {
        header.fan_in_workers = members_.size();
    }
}

Header AnswerHeaders::result(const Header &asked, const Owner &owner, std::uint32_t flags) const {
    Header result = header(KIND_RESULT, flags | FLAG_BYPASS, asked, owner);
    add_fan_in(result);
    if (members_.two_levels()) {
        result.racks = members_.rack_bitmap();
    } else {
        result.workers = members_.bitmap(0, members_.all_workers());
    }
    result.words = static_cast<std::uint32_t>(job_.accumulator_words);
    return result;
}

Header AnswerHeaders::pending(const Header &asked, const Owner &owner, const WorkerSet &workers,
                              std::uint32_t rack) const {
    Header pending = header(KIND_PENDING, FLAG_BYPASS, asked, owner);
    add_fan_in(pending);
    pending.workers = members_.bitmap(rack, workers);
    if (members_.two_levels()) {
        pending.racks = members_.complete_racks(workers);
    }
    return pending;
}

Header AnswerHeaders::conflict(const Header &asked, const Owner &owner, const MemberIndex &offender) const {
    Header conflict = header(KIND_CONFLICT, 0, asked, owner);
    conflict.racks = owner.round_words;
    conflict.workers = asked.racks;
    conflict.fan_in_workers = offender.worker & 0xFF;
    conflict.fan_in_racks = asked.op;
    return conflict;
}

}  // namespace lanesum::server
