// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "codecs/factors.hpp"

#include <algorithm>
#include <cmath>

namespace lanesum::codecs {
namespace {

constexpr double SMALLEST_FACTOR = 1e-30, LARGEST_FACTOR = 1e30;
constexpr int FIRST_EXPONENT = 100;

/// Writes two powers of two whose exponents have the sum ``exponent``.
void two_powers(int exponent, float *powers) {
    const int first = std::clamp(exponent, -FIRST_EXPONENT, FIRST_EXPONENT);
    powers[0] = std::ldexp(1.0F, first);
    powers[1] = std::ldexp(1.0F, exponent - first);
}

/// Returns what numpy.interp returns for a ``ratio`` of at least 0, the first one of the table.
double interpolated(double ratio, const Gains &table) {
    const std::size_t above = std::upper_bound(table.ratios, table.ratios + table.count, ratio) - table.ratios;
    if (above == table.count || above == 0) {
        return table.gains[above == 0 ? 0 : above - 1];
    }
    const std::size_t at = above - 1;
    const double slope = (table.gains[above] - table.gains[at]) / (table.ratios[above] - table.ratios[at]);
    return slope * (ratio - table.ratios[at]) + table.gains[at];
}

}  // namespace

void encode_factors(const float *norms, const float *peaks, std::size_t count, double step, const Gains &gains,
                    float *powers, float *factors) {
    for (std::size_t i = 0; i < count; ++i) {
        int exponent = 0;
        std::frexp(norms[i], &exponent);
        two_powers(-exponent, powers + 2 * i);
        factors[i] = 0;
        if (peaks[i] > 0) {
            const float ratio = norms[i] / peaks[i];
            const double found = step * std::ldexp(1.0, exponent) * interpolated(ratio, gains) / peaks[i];
            factors[i] = static_cast<float>(std::clamp(found, SMALLEST_FACTOR, LARGEST_FACTOR));
        }
    }
}

void decode_factors(const float *peaks, std::size_t count, double step, std::size_t length, std::size_t last_length,
                    double divisor, float *factors) {
    for (std::size_t i = 0; i < count; ++i) {
        const double coordinates = static_cast<double>(i + 1 < count ? length : last_length);
        int exponent = 0;
        const double mantissa = std::frexp(peaks[i] * step / (coordinates * divisor), &exponent);
        two_powers(exponent, factors + 2 * i);
        factors[2 * i] *= static_cast<float>(mantissa);
    }
}

}  // namespace lanesum::codecs
