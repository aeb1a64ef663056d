// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// A job without a quorum, as in lanesum/server/jobs.py, which has checked the values.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/spec.hpp"

namespace lanesum::server {

/// Indices that name one worker: its number in the job, its rack, and its bit in the bitmap of that rack.
struct MemberIndex {
    std::uint32_t worker;
    std::uint32_t rack;
    std::uint32_t bit;
};

struct Member {
    sockaddr_in address;
    MemberIndex index;
};

struct ServerJob {
    std::uint32_t job = 0;
    std::uint32_t tag = 0;
    std::vector<Member> members;  ///< sorted by worker number
    std::uint32_t slots = 0;
    std::uint32_t servers = 1;  ///< of the job: this one has every ``servers``-th slot
    std::uint32_t ops = 0;  ///< bit set by operation code
    std::optional<std::array<std::uint8_t, CODE_TABLE_ENTRIES>> code_table;
    std::size_t accumulator_words = 0;
    bool two_levels = false;
    bool on_switches = false;
    bool joined_packets = false;

    bool allows(std::uint32_t op) const { return op < LANE_OPS && (ops >> op & 1) != 0; }

    const std::uint8_t *codes() const { return code_table ? code_table->data() : nullptr; }
};

/// Return IPv4 address and port as one number. Other fields of the structure have no influence.
inline std::uint64_t address_key(const sockaddr_in &address) {
    return static_cast<std::uint64_t>(address.sin_addr.s_addr) << 16 | address.sin_port;
}

}  // namespace lanesum::server
