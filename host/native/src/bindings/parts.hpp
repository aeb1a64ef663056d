// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Kernels on several threads. Blocks are independent, so no bit depends on the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "threads/parts.hpp"

namespace lanesum::bindings {

/// Minimum number of values of a part: a thread computes more of them while another one joins.
constexpr std::size_t MIN_PART = std::size_t{1} << 15;
/// Parts of each thread, so that one that joins late has fewer of them, and none waits long for the last one.
constexpr std::size_t PARTS_PER_THREAD = 32;
constexpr std::size_t MAX_THREADS = 256;

inline std::size_t checked_threads(std::size_t threads) {
    if (threads < 1 || threads > MAX_THREADS) {
        throw std::invalid_argument("kernels require 1 to 256 threads");
    }
    return threads;
}

/// Calls ``work(thread, first, stop)`` for ranges of units, each of ``unit`` values but the last, in parallel.
template <typename Work>
void in_parts(std::size_t values, std::size_t unit, std::size_t threads, const Work &work) {
    const std::size_t units = values / unit + (values % unit != 0);
    const std::size_t wanted = threads == 1 ? 1 : std::min(PARTS_PER_THREAD * threads, values / MIN_PART);
    const std::size_t parts = std::max<std::size_t>(1, std::min(units, wanted));
    do_parts(parts, threads, [&](std::size_t thread, std::size_t part) {
        work(thread, units * part / parts, units * (part + 1) / parts);
    });
}

}  // namespace lanesum::bindings
