// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "lanes/level.hpp"

#include <atomic>
#include <vector>

namespace lanesum {
namespace {

std::vector<Level> found() {
    std::vector<Level> levels = {{"baseline", &BASELINE_KERNELS}};
#if defined(__x86_64__)
    // This also asks the operating system, which has to save the wide registers.
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        levels.push_back({"avx2", &AVX2_KERNELS});
    }
    // All processors with AVX-512 except the first ones have all of these.
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        levels.push_back({"avx512", &AVX512_KERNELS});
    }
#endif
    return levels;
}

std::atomic<const Level *> &chosen() {
    static std::atomic<const Level *> level = &supported_levels().back();
    return level;
}

}  // namespace

std::span<const Level> supported_levels() {
    static const std::vector<Level> levels = found();
    return levels;
}

const Level &level() { return *chosen().load(std::memory_order_relaxed); }

bool set_level(std::string_view name) {
    for (const Level &level : supported_levels()) {
        if (level.name == name) {
            chosen().store(&level, std::memory_order_relaxed);
            return true;
        }
    }
    return false;
}

}  // namespace lanesum
