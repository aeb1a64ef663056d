// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace lanesum::transport {

/// A counter that one thread writes and any thread may read; as fast as a plain integer.
class Counter {
public:
    Counter &operator+=(std::uint64_t more) {
        value_.store(value_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
        return *this;
    }
    Counter &operator++() { return *this += 1; }
    void reset() { value_.store(0, std::memory_order_relaxed); }
    operator std::uint64_t() const { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

}  // namespace lanesum::transport
