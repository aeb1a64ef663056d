// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Factors of the blocks of ``thc``, with the bits of lanesum/codecs/thc/reference.py, which documents both functions.
#pragma once

#include <cstddef>

namespace lanesum::codecs {

/// Table of ``count`` gains for increasing ratios.
struct Gains {
    const double *ratios;
    const double *gains;
    std::size_t count;
};

void encode_factors(const float *norms, const float *peaks, std::size_t count, double step, const Gains &gains,
                    float *powers, float *factors);

/// ``length``: coordinates of a block; ``last_length``: of the last one, with the padding.
void decode_factors(const float *peaks, std::size_t count, double step, std::size_t length, std::size_t last_length,
                    double divisor, float *factors);

}  // namespace lanesum::codecs
