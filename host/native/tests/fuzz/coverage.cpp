// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "coverage.hpp"

#include <array>
#include <cstdint>

extern "C" const char __executable_start;  // from the linker: addresses relative to it are the same in every run

namespace lanesum::fuzz {
namespace {

constexpr std::size_t EDGES = std::size_t{1} << 16;
std::array<bool, EDGES> covered;
std::size_t count = 0;
std::uintptr_t before = 0;

}  // namespace

std::size_t covered_edges() { return count; }

/// Called at every branch by -fsanitize-coverage=trace-pc.
extern "C" void __sanitizer_cov_trace_pc() {
    const auto start = reinterpret_cast<std::uintptr_t>(&__executable_start);
    const std::uintptr_t branch = (reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - start) * 0x9E3779B1;
    bool &edge = covered[(branch >> 8 ^ before) % EDGES];
    before = branch >> 9;
    count += !edge;
    edge = true;
}

}  // namespace lanesum::fuzz
