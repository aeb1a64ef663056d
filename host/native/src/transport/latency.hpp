// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Latency of chunks, as in lanesum/transport/latency.py.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "transport/constants.hpp"
#include "transport/counter.hpp"

namespace lanesum::transport {

class LatencyHistogram {
public:
    void record(double seconds) {
        constexpr auto max_ns = static_cast<double>((std::uint64_t{1} << LATENCY_MAX_BITS) - 1);
        const auto nanoseconds = static_cast<std::uint64_t>(std::clamp(seconds * 1e9, 0.0, max_ns));
        const int shift = std::max(0, static_cast<int>(std::bit_width(nanoseconds)) - LATENCY_SUB_BUCKET_BITS - 1);
        ++counts_[(static_cast<std::size_t>(shift) << LATENCY_SUB_BUCKET_BITS) + (nanoseconds >> shift)];
    }

    void reset() { std::ranges::for_each(counts_, &Counter::reset); }

    /// Copies the counts, for another thread.
    std::array<std::uint64_t, LATENCY_BUCKETS> counts() const {
        std::array<std::uint64_t, LATENCY_BUCKETS> numbers;
        std::ranges::copy(counts_, numbers.begin());
        return numbers;
    }

private:
    std::array<Counter, LATENCY_BUCKETS> counts_{};
};

}  // namespace lanesum::transport
