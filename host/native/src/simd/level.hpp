// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// How wide the vectors of this machine are: everything with code for several widths chooses by it, once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lanesum {

enum class SimdLevel : std::uint8_t { BASELINE, AVX2, AVX512 };

constexpr std::size_t SIMD_LEVELS = 3;
constexpr std::array<const char *, SIMD_LEVELS> SIMD_LEVEL_NAMES{"baseline", "avx2", "avx512"};

/// Whether this processor and its operating system can run code for ``level``. AVX512 stands for F, BW, DQ and VL,
/// which all but the first processors with AVX-512 have.
inline bool has_level(SimdLevel level) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    switch (level) {
        case SimdLevel::AVX512:
            return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
        case SimdLevel::AVX2:
            return __builtin_cpu_supports("avx2");
        default:
            return true;
    }
#else
    // What the compiler does for the whole architecture (NEON on 64-bit ARM) is the baseline.
    return level == SimdLevel::BASELINE;
#endif
}

/// The widest level that this machine has.
inline SimdLevel best_level() {
    static const SimdLevel best = has_level(SimdLevel::AVX512) ? SimdLevel::AVX512
                                  : has_level(SimdLevel::AVX2) ? SimdLevel::AVX2
                                                               : SimdLevel::BASELINE;
    return best;
}

}  // namespace lanesum
