// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Check words of certified sums, as in lanesum/transport/certification.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lanes/lanes.hpp"
#include "transport/ticket.hpp"

namespace lanesum::transport {

/// Check words of a job, for one of its workers. Immutable.
class Certification {
public:
    /// @param ticket its operations are certifiable: Python has checked them.
    explicit Certification(const JobTicket &ticket);

    /// Returns the accumulator words of data in a packet.
    std::size_t data_words(LaneOp op) const;

    /// Writes the check words behind the data of a packet.
    ///
    /// @param payload uplink words of the whole packet; those behind the data are zeros.
    void seal(LaneOp op, std::uint32_t epoch, std::uint32_t chunk, std::span<std::byte> payload) const;

    /// Returns true if a result passes its check.
    ///
    /// @param data accumulator words of data, in the machine's byte order.
    /// @param checks the accumulator words behind them, as received.
    /// @param contributors bitmap of the workers of every rack.
    bool is_right(LaneOp op, std::uint32_t epoch, std::uint32_t chunk, std::span<const std::uint32_t> data,
                  const std::byte *checks, std::span<const std::uint32_t> contributors) const;

private:
    std::uint64_t chunk_bits(std::uint32_t epoch, std::uint32_t chunk) const;
    std::uint32_t contributor_word(std::uint64_t chunk_bits, std::uint32_t worker) const;
    bool contributes(std::span<const std::uint32_t> contributors, std::uint32_t worker) const;
    std::uint64_t secrets_of(std::span<const std::uint32_t> contributors) const;
    std::uint32_t check_word(LaneOp op, std::span<const std::uint32_t> data, std::uint64_t secrets,
                             std::uint64_t chunk_bits) const;
    bool is_exact(LaneOp op) const;
    std::uint32_t reduce(std::uint64_t number) const;

    std::uint32_t worker_;
    std::size_t words_;
    std::vector<Place> places_;
    std::vector<std::uint32_t> members_;
    std::vector<std::uint32_t> factors_;  // odd
    std::vector<std::uint32_t> prime_factors_;  // below the prime
    std::vector<std::uint32_t> secrets_;
    std::uint64_t all_secrets_ = 0;
    int prime_bits_;
    std::uint32_t gap_;
    std::uint64_t chunks_key_;
};

}  // namespace lanesum::transport
