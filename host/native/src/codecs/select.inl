// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Selection of the largest magnitudes, as in lanesum/codecs/kernels/reference.py. Without the sign, the order of floats
// is that of their bits. So histograms of the bits, from the top, find the smallest selected magnitude without moving
// values.

LANESUM_INLINE std::uint32_t magnitude_bits(const float *value) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, value, sizeof bits);
    return bits & 0x7FFFFFFFu;
}

void not_below(const float *values, std::size_t count, std::uint32_t least_bits, std::uint8_t *mask) {
    for (std::size_t i = 0; i < count; ++i) {
        // Signed: all processors have a vector comparison of signed integers.
        mask[i] = static_cast<std::int32_t>(magnitude_bits(values + i)) >= static_cast<std::int32_t>(least_bits);
    }
}

/// Calls ``found`` with the position of every value whose magnitude starts with the bits of ``prefix``.
template <typename Found>
LANESUM_INLINE void for_each_with(const float *values, std::size_t count, unsigned shift, std::uint32_t prefix,
                                  Found found) {
    constexpr std::size_t stride = 64;  // values that are tested at once: usually none matches
    for (std::size_t start = 0; start < count; start += stride) {
        const std::size_t size = least(stride, count - start);
        if (size == stride) {
            std::uint32_t some = 0;
            for (std::size_t i = 0; i < stride; ++i) {
                some |= magnitude_bits(values + start + i) >> shift == prefix;
            }
            if (some == 0) {
                continue;
            }
        }
        for (std::size_t i = start; i < start + size; ++i) {
            if (magnitude_bits(values + i) >> shift == prefix) {
                found(i);
            }
        }
    }
}

/// Returns the digit of the ``wanted``-th largest value, and sets ``wanted`` to its rank among those with that digit.
LANESUM_INLINE std::uint32_t digit_of(const std::uint32_t *counts, std::uint32_t digits, std::size_t &wanted) {
    std::uint32_t digit = digits - 1;
    for (; counts[digit] < wanted; --digit) {
        wanted -= counts[digit];
    }
    return digit;
}

void largest(const float *values, std::size_t count, std::size_t wanted, std::uint8_t *mask) {
    if (wanted == 0) {
        for (std::size_t i = 0; i < count; ++i) {
            mask[i] = 0;
        }
        return;
    }
    constexpr unsigned top = 20, step = 10;
    constexpr std::uint32_t digits = 1u << (31 - top), later_digits = 1u << step;
    // Four histograms: neighbours often have the same digit, and an increment would wait for the one before.
    std::uint32_t counts[4][digits] = {};
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (std::size_t j = 0; j < 4; ++j) {
            ++counts[j][magnitude_bits(values + i + j) >> top];
        }
    }
    for (; i < count; ++i) {
        ++counts[0][magnitude_bits(values + i) >> top];
    }
    for (std::uint32_t digit = 0; digit < digits; ++digit) {
        counts[0][digit] += counts[1][digit] + counts[2][digit] + counts[3][digit];
    }
    std::uint32_t prefix = digit_of(counts[0], digits, wanted);
    std::uint32_t equal = 0;
    for (unsigned shift = top; shift != 0; shift -= step) {
        std::uint32_t *later = counts[0];
        __builtin_memset(later, 0, later_digits * sizeof *later);
        for_each_with(values, count, shift, prefix, [&](std::size_t at) {
            ++later[magnitude_bits(values + at) >> (shift - step) & (later_digits - 1)];
        });
        const std::uint32_t digit = digit_of(later, later_digits, wanted);
        equal = later[digit];
        prefix = prefix << step | digit;
    }
    // Zeros are never selected.
    not_below(values, count, prefix == 0 ? 1 : prefix, mask);
    if (prefix != 0 && equal > wanted) {
        for_each_with(values, count, 0, prefix, [&](std::size_t at) {
            mask[at] = wanted != 0;
            wanted -= wanted != 0;
        });
    }
}
