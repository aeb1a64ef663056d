// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Steps of ``fixed`` in float64, as in lanesum/codecs/kernels/reference.py.

void magnitudes(const float *values, std::size_t count, std::size_t block, std::uint32_t *out) {
    for (std::size_t start = 0; start < count; start += block, ++out) {
        const std::size_t size = least(block, count - start);
        std::uint32_t largest = 0;
        for (std::size_t i = 0; i < size; ++i) {
            std::uint32_t bits;
            __builtin_memcpy(&bits, values + start + i, sizeof bits);
            // Without the sign, the order of floats is that of their bits; infinity and NaN are the largest.
            bits &= 0x7FFFFFFFu;
            largest = largest < bits ? bits : largest;
        }
        *out = largest;
    }
}

void to_integers(const float *values, std::size_t count, const BlockUnits &units, std::int32_t *out) {
    // The sum with this constant has no bits for fractions, so the addition rounds half to even. The integer is in the
    // low bits.
    constexpr double no_fraction = 0x1.8p52;
    const double peak = units.peak;
    const float *maximum = units.maxima;
    for (std::size_t start = 0; start < count; start += units.block, ++maximum) {
        const std::size_t size = least(units.block, count - start);
        const double unit = static_cast<double>(*maximum) / peak;
        if (!(unit > 0)) {
            __builtin_memset(out + start, 0, size * sizeof *out);
            continue;
        }
        for (std::size_t i = 0; i < size; ++i) {
            double scaled = values[start + i] / unit;
            scaled = scaled > peak ? peak : scaled;
            scaled = scaled < -peak ? -peak : scaled;
            scaled += no_fraction;
            std::uint64_t bits;
            __builtin_memcpy(&bits, &scaled, sizeof bits);
            out[start + i] = static_cast<std::int32_t>(bits);
        }
    }
}

void from_integers(const std::int32_t *sums, std::size_t count, const BlockUnits &units, double divisor,
                   const double *counts, float *out) {
    const float *maximum = units.maxima;
    for (std::size_t start = 0; start < count; start += units.block, ++maximum) {
        const std::size_t end = start + least(units.block, count - start);
        const double unit = static_cast<double>(*maximum) / units.peak;
        if (counts == nullptr) {
            for (std::size_t i = start; i < end; ++i) {
                out[i] = static_cast<float>(sums[i] * unit / divisor);
            }
        } else {
            for (std::size_t i = start; i < end; ++i) {
                out[i] = static_cast<float>(sums[i] * unit / counts[i]);
            }
        }
    }
}

void integer_residual(const float *values, const std::int32_t *integers, std::size_t count, const BlockUnits &units,
                      float *out) {
    const float *maximum = units.maxima;
    for (std::size_t start = 0; start < count; start += units.block, ++maximum) {
        const std::size_t end = start + least(units.block, count - start);
        const double unit = static_cast<double>(*maximum) / units.peak;
        for (std::size_t i = start; i < end; ++i) {
            out[i] = static_cast<float>(values[i] - integers[i] * unit);
        }
    }
}

void sum_rows(const float *rows, std::size_t count, std::size_t size, double divisor, float *out) {
    // A part of the total stays in the first-level cache while all rows are added to it.
    constexpr std::size_t part = 512;
    double total[part];
    for (std::size_t start = 0; start < size; start += part) {
        const std::size_t length = least(part, size - start);
        for (std::size_t i = 0; i < length; ++i) {
            total[i] = rows[start + i];
        }
        for (std::size_t row = 1; row < count; ++row) {
            const float *values = rows + row * size + start;
            for (std::size_t i = 0; i < length; ++i) {
                total[i] += values[i];
            }
        }
        for (std::size_t i = 0; i < length; ++i) {
            out[start + i] = static_cast<float>(total[i] / divisor);
        }
    }
}
