// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "coverage.hpp"

#include <array>
#include <cstdint>

extern "C" const char __executable_start;  // from the linker: places are counted from here, the same in every run

namespace lanesum::fuzz {
namespace {

constexpr std::size_t WAYS = std::size_t{1} << 16;
std::array<bool, WAYS> taken;
std::size_t count = 0;
std::uintptr_t before = 0;

}  // namespace

std::size_t ways_taken() { return count; }

/// -fsanitize-coverage=trace-pc calls it at every branch.
extern "C" void __sanitizer_cov_trace_pc() {
    const auto start = reinterpret_cast<std::uintptr_t>(&__executable_start);
    const std::uintptr_t place = (reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - start) * 0x9E3779B1;
    bool &way = taken[(place >> 8 ^ before) % WAYS];
    before = place >> 9;
    count += !way;
    way = true;
}

}  // namespace lanesum::fuzz
