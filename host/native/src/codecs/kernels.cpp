// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "codecs/kernels.hpp"

namespace lanesum::codecs {

const Kernels &kernels([[maybe_unused]] std::string_view level) {
#if defined(__x86_64__)
    if (level == "avx512") {
        return AVX512;
    }
    if (level == "avx2") {
        return AVX2;
    }
#endif
    return BASELINE;
}

}  // namespace lanesum::codecs
