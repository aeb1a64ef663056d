// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// How long chunks take, as in lanesum/transport/latency.py.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "transport/counter.hpp"

namespace lanesum::transport {

class Latency {
public:
    static constexpr int PARTS_BITS = 5;
    static constexpr int LONGEST_BITS = 38;
    static constexpr std::size_t BUCKETS = std::size_t{LONGEST_BITS - PARTS_BITS + 1} << PARTS_BITS;

    void record(double seconds) {
        const auto longest = static_cast<double>((std::uint64_t{1} << LONGEST_BITS) - 1);
        const auto nanoseconds = static_cast<std::uint64_t>(std::clamp(seconds * 1e9, 0.0, longest));
        const int shift = std::max(0, static_cast<int>(std::bit_width(nanoseconds)) - PARTS_BITS - 1);
        ++counts_[(static_cast<std::size_t>(shift) << PARTS_BITS) + (nanoseconds >> shift)];
    }

    /// As numbers, for whoever reads them in another thread.
    std::array<std::uint64_t, BUCKETS> counts() const {
        std::array<std::uint64_t, BUCKETS> numbers;
        std::ranges::copy(counts_, numbers.begin());
        return numbers;
    }

private:
    std::array<Counter, BUCKETS> counts_{};
};

}  // namespace lanesum::transport
