// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Steps of THC on one chunk, each fused into one pass, as in lanesum/codecs/kernels/reference.py.

constexpr float FLOAT_MAX = 0x1.fffffep127F;
/// Number of codes that are kept as bytes before they are packed.
constexpr std::size_t CODE_TILE = 1024;

// Norms

/// Order of additions in a norm, the same for every level: 32 lanes over blocks of 4096, halved, then block after
/// block.
constexpr std::size_t SUM_LANES = 32;
constexpr std::size_t SUM_BLOCK = 4096;
/// Distance of the values that are fetched to the cache: two pages.
constexpr std::size_t SUM_AHEAD = 2048;

double square_sum(const float *values, std::size_t count) {
    constexpr std::size_t half = LANES / 2;
    constexpr std::size_t vectors = SUM_LANES / half;
    double total = 0;
    for (std::size_t start = 0; start < count; start += SUM_BLOCK) {
        const std::size_t end = least(count, start + SUM_BLOCK);
        Doubles sums[vectors] = {};
        std::size_t at = start;
        for (; at + SUM_LANES <= end; at += SUM_LANES) {
            // The processor's own prefetch ends with a page. Addresses after the last value are harmless.
            __builtin_prefetch(values + at + SUM_AHEAD);
            __builtin_prefetch(values + at + SUM_AHEAD + SUM_LANES / 2);
#pragma GCC unroll 16
            for (std::size_t i = 0; i < vectors; ++i) {
                const Doubles x = __builtin_convertvector(load<HalfFloats>(values + at + i * half), Doubles);
                sums[i] += x * x;
            }
        }
        double lanes[SUM_LANES];
        __builtin_memcpy(lanes, sums, sizeof lanes);
        for (std::size_t i = 0; at + i < end; ++i) {
            const double x = values[at + i];
            lanes[i] += x * x;
        }
        for (std::size_t width = SUM_LANES / 2; width > 0; width /= 2) {
            for (std::size_t i = 0; i < width; ++i) {
                lanes[i] += lanes[i + width];
            }
        }
        total += lanes[0];
    }
    return total;
}

// Rotation

template <std::size_t... I>
LANESUM_INLINE Floats negated_where(Floats x, const std::uint32_t *signs, std::size_t at, std::index_sequence<I...>) {
    constexpr Words to_sign = {(31 - I)...};
    const Words bits = Words{} + (signs[at / 32] >> at % 32);
    return (Floats)((Words)x ^ (bits << to_sign & 0x80000000u));
}

struct Vector {
    const float *values;
    const float *powers;
    const std::uint32_t *signs;

    LANESUM_INLINE Floats get(std::size_t at) const {
        const Floats x = load<Floats>(values + at) * powers[0] * powers[1];
        return negated_where(x, signs, at, LaneIndices{});
    }
};

void rotate(const float *values, std::size_t count, const float *powers, const Rotation &rotation, float *out) {
    if (count < rotation.length) {
        __builtin_memcpy(out, values, count * sizeof *out);
        __builtin_memset(out + count, 0, (rotation.length - count) * sizeof *out);
        values = out;
    }
    const Vector source{values, powers, rotation.signs};
    transform(source, Memory{out}, out, rotation.length, rotation.block);
}

/// Converts results of the inverse transform to values of the vector.
LANESUM_INLINE Floats estimate(Floats x, const Scale &scale, const std::uint32_t *signs, std::size_t at) {
    x = negated_where(x, signs, at, LaneIndices{});
    return limited(x * scale.mantissa * scale.powers[0] * scale.powers[1], scale.limit);
}

// Codes

LANESUM_INLINE Words look_up(const std::uint32_t *entries, Ints cells, bool few) {
#if LANESUM_VECTOR_BYTES == 64
    if (few) {
        const __m512i front = _mm512_loadu_si512(entries);
        const __m512i back = _mm512_loadu_si512(entries + LANES);
        return (Words)_mm512_permutex2var_epi32(front, (__m512i)cells, back);
    }
    return (Words)_mm512_i32gather_epi32((__m512i)cells, entries, sizeof *entries);
#elif LANESUM_VECTOR_BYTES == 32
    static_cast<void>(few);
    return (Words)_mm256_i32gather_epi32(reinterpret_cast<const int *>(entries), (__m256i)cells, sizeof *entries);
#else
    static_cast<void>(few);
    return Words{entries[cells[0]], entries[cells[1]], entries[cells[2]], entries[cells[3]]};
#endif
}

LANESUM_INLINE Bytes quantized(Floats rotated, Words random, float factor, const Cells &cells, bool few) {
    Floats position = rotated * factor + cells.half;
    position = lesser(greater(position, Floats{}), Floats{} + cells.granularity);
    const Ints cell = __builtin_convertvector(position, Ints);
    const Words entry = look_up(cells.entries, cell, few);
    const Floats below = __builtin_convertvector((Ints)(entry & 0xFF), Floats);
    const Floats gap = __builtin_convertvector((Ints)(entry >> 8 & 0xFF), Floats);
    const Floats dither = __builtin_convertvector((Ints)(random >> 8), Floats) * 0x1p-24F;
    // The result of a comparison is -1 for true.
    const Words up = (Words)(position - below > dither * gap);
    return __builtin_convertvector((entry >> 16) - up, Bytes);
}

void pack(const std::uint8_t *codes, std::size_t count, std::uint32_t *words) {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "codes and lanes are taken as bytes of their words");
    for (std::size_t i = 0; i < count; i += 8) {
        std::uint64_t eight;
        __builtin_memcpy(&eight, codes + i, sizeof eight);
        words[i / 8] = __builtin_bswap32(static_cast<std::uint32_t>(eight | eight >> 28));
    }
}

template <bool FEW>
void quantize_all(const float *rotated, std::size_t count, float factor, const Cells &cells, const RandomKey &key,
                  std::uint32_t *words) {
    alignas(64) std::uint8_t codes[CODE_TILE];
    const Philox philox(key);
    for (std::size_t start = 0; start < count; start += CODE_TILE) {
        const std::size_t size = least(CODE_TILE, count - start);
        for (std::size_t i = 0; i < size; i += RANDOM_STEP) {
            Words random[2];
            philox.words((start + i) / 4, random);
#pragma GCC unroll 2
            for (std::size_t part = 0; part < 2; ++part) {
                const std::size_t at = i + part * LANES;
                const Floats x = load<Floats>(rotated + start + at);
                store(codes + at, quantized(x, random[part], factor, cells, FEW));
            }
        }
        pack(codes, size, words + start / 8);
    }
}

void quantize(const float *rotated, std::size_t count, float factor, const Cells &cells, const RandomKey &key,
              std::uint32_t *words) {
    if (cells.few) {
        quantize_all<true>(rotated, count, factor, cells, key, words);
    } else {
        quantize_all<false>(rotated, count, factor, cells, key, words);
    }
}

// Sums

/// Returns twice the sums in lanes from ``at``.
template <std::size_t... I>
LANESUM_INLINE Floats doubled_lanes(const std::uint32_t *words, std::size_t at, std::index_sequence<I...>) {
    const Bytes there = load<Bytes>(words + at / 4);
    const Bytes lanes = __builtin_shufflevector(there, there, (I ^ 3)...);
    const Floats sums = __builtin_convertvector(__builtin_convertvector(lanes, Ints), Floats);
    return sums + sums;
}

/// Returns the value of each accumulator word for its four lanes.
template <typename Element, std::size_t... I>
__attribute__((noinline)) Floats per_word(const Element *of_words, std::size_t at, std::index_sequence<I...>) {
    return Floats{static_cast<float>(of_words[at / 4 + I / 4])...};
}

struct Lanes {
    const std::uint32_t *words;
    float offset;

    LANESUM_INLINE Floats get(std::size_t at) const { return doubled_lanes(words, at, LaneIndices{}) - offset; }
};

struct CountedLanes {
    const std::uint32_t *words;
    const LaneContributors &contributors;

    LANESUM_INLINE Floats get(std::size_t at) const {
        const Floats counts = per_word(contributors.counts, at, LaneIndices{});
        const Floats x = doubled_lanes(words, at, LaneIndices{}) - counts * contributors.offset;
        return contributors.average ? x / counts : x;
    }
};

struct Estimates {
    float *out;
    const Scale &scale;
    const std::uint32_t *signs;

    LANESUM_INLINE void put(std::size_t at, Floats x) const { store(out + at, estimate(x, scale, signs, at)); }
};

void decode(const std::uint32_t *lanes, const LaneContributors &contributors, const Rotation &rotation,
            const Scale &scale, float *work, float *out, std::size_t count) {
    const Estimates sink{count < rotation.length ? work : out, scale, rotation.signs};
    if (contributors.counts == nullptr) {
        const Lanes source{lanes, contributors.offset};
        transform(source, sink, work, rotation.length, rotation.block);
    } else {
        const CountedLanes source{lanes, contributors};
        transform(source, sink, work, rotation.length, rotation.block);
    }
    if (count < rotation.length) {
        __builtin_memcpy(out, work, count * sizeof *out);
    }
}

// Residuals

LANESUM_INLINE Floats look_up(const float *levels, Words codes) {
#if LANESUM_VECTOR_BYTES == 64
    return _mm512_permutexvar_ps((__m512i)codes, _mm512_loadu_ps(levels));
#elif LANESUM_VECTOR_BYTES == 32
    const __m256 low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(levels), (__m256i)codes);
    const __m256 high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(levels + LANES), (__m256i)codes);
    // The sign bit, which selects the half, is bit 3 of the code.
    return _mm256_blendv_ps(low, high, (__m256)(codes << 28));
#else
    return Floats{levels[codes[0]], levels[codes[1]], levels[codes[2]], levels[codes[3]]};
#endif
}

template <bool ALL_INCLUDED>
struct OwnCodes {
    const std::uint32_t *words;
    const float *levels;
    const std::uint8_t *included;

    LANESUM_INLINE Floats get(std::size_t at) const { return get(at, LaneIndices{}); }

    template <std::size_t... I>
    LANESUM_INLINE Floats get(std::size_t at, std::index_sequence<I...>) const {
        // A vector may cover half a word.
        const Words there = {words[(at + I) / 8]...};
        constexpr Words shifts = {(24 - I % 4 * 8 + I / 4 % 2 * 4)...};
        const Words codes = there >> (shifts + static_cast<std::uint32_t>(at % 8)) & 0xF;
        const Floats x = look_up(levels, codes);
        if constexpr (ALL_INCLUDED) {
            return x;
        }
        return x * per_word(included, at, LaneIndices{});
    }
};

LANESUM_INLINE float difference(float value, float decoded) {
    const float left = value - decoded;
    return left > FLOAT_MAX ? FLOAT_MAX : left < -FLOAT_MAX ? -FLOAT_MAX : left;
}

struct Differences {
    const float *values;
    float *out;
    const Scale &scale;
    const std::uint32_t *signs;

    LANESUM_INLINE void put(std::size_t at, Floats x) const {
        store(out + at, limited(load<Floats>(values + at) - estimate(x, scale, signs, at), FLOAT_MAX));
    }
};

template <bool ALL_INCLUDED>
void residual_all(const OwnCodes<ALL_INCLUDED> &source, const Rotation &rotation, const Scale &scale,
                  const float *values, float *work, float *out, std::size_t count) {
    if (count == rotation.length) {
        const Differences sink{values, out, scale, rotation.signs};
        return transform(source, sink, work, rotation.length, rotation.block);
    }
    transform(source, Estimates{work, scale, rotation.signs}, work, rotation.length, rotation.block);
    for (std::size_t i = 0; i < count; ++i) {
        out[i] = difference(values[i], work[i]);
    }
}

void residual(const std::uint32_t *codes, const float *levels, const std::uint8_t *included, const Rotation &rotation,
              const Scale &scale, const float *values, float *work, float *out, std::size_t count) {
    if (included == nullptr) {
        residual_all(OwnCodes<true>{codes, levels, included}, rotation, scale, values, work, out, count);
    } else {
        residual_all(OwnCodes<false>{codes, levels, included}, rotation, scale, values, work, out, count);
    }
}
