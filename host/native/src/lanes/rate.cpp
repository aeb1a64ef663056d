// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "lanes/rate.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "lanes/lanes.hpp"

namespace lanesum {
namespace {

using Clock = std::chrono::steady_clock;

/// Long compared with reading the clock, short compared with a time slice of the scheduler.
constexpr std::size_t SLICE_BYTES = std::size_t{1} << 20;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

LaneRate lane_rate(LaneOp op, std::size_t words, std::size_t entries, double seconds, bool first) {
    const std::size_t payload_bytes = uplink_words(op, words) * WORD_BYTES;
    std::vector<std::uint32_t> accumulators(words * entries);
    std::vector<std::byte> payloads(payload_bytes * entries, std::byte{0x5A});
    const std::uint8_t code_table[CODE_TABLE_ENTRIES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    std::size_t at = 0;
    const auto slice = [&](auto work) {
        const Clock::time_point start = Clock::now();
        std::size_t done = 0;
        for (; done < SLICE_BYTES; done += payload_bytes) {
            work(accumulators.data() + at * words, payloads.data() + at * payload_bytes);
            at = at + 1 == entries ? 0 : at + 1;
        }
        asm volatile("" : : "r"(accumulators.data()) : "memory");  // keeps the compiler from removing the work
        return static_cast<double>(done) / seconds_since(start);
    };
    LaneRate best{0, 0};
    const Clock::time_point begin = Clock::now();
    do {
        best.operation = std::max(best.operation, slice([&](std::uint32_t *accumulator, const std::byte *payload) {
                                      contribute(op, {accumulator, words}, payload, false, code_table, first);
                                  }));
        best.copy = std::max(best.copy, slice([&](std::uint32_t *accumulator, const std::byte *payload) {
                                 std::memcpy(accumulator, payload, payload_bytes);
                             }));
    } while (seconds_since(begin) < seconds);
    return best;
}

}  // namespace lanesum
