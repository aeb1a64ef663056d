// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "lanes/level.hpp"

#include <atomic>

namespace lanesum {
namespace {

const Kernels &kernels_of(SimdLevel level) {
#if defined(__x86_64__)
    switch (level) {
        case SimdLevel::AVX512:
            return AVX512_KERNELS;
        case SimdLevel::AVX2:
            return AVX2_KERNELS;
        default:
            break;
    }
#else
    static_cast<void>(level);
#endif
    return BASELINE_KERNELS;
}

std::atomic<SimdLevel> chosen{best_level()};
std::atomic<const Kernels *> kernels{&kernels_of(best_level())};

}  // namespace

SimdLevel lane_level() { return chosen.load(std::memory_order_relaxed); }

const Kernels &lane_kernels() { return *kernels.load(std::memory_order_relaxed); }

bool set_lane_level(SimdLevel level) {
    if (!has_level(level)) {
        return false;
    }
    chosen.store(level, std::memory_order_relaxed);
    kernels.store(&kernels_of(level), std::memory_order_relaxed);
    return true;
}

}  // namespace lanesum
