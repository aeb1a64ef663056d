// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Kernels of the codecs, one set for each level of vector instructions. Each has the bits of the function of its name
// in lanesum/codecs/kernels/reference.py: the same IEEE operations on each element in the same order, never contracted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "codecs/blocks.hpp"

namespace lanesum::codecs {

/// Name of a stream of random words, as in lanesum/codecs/kernels/philox.py: key words, and counter words 1 to 3.
struct RandomKey {
    std::uint32_t seed[2];
    std::uint32_t chunk;
    std::uint32_t round;
    std::uint32_t stream_and_worker;
};

/// Randomized Hadamard transform of one padded chunk.
struct Rotation {
    const std::uint32_t *signs;  ///< bit i % 32 of word i / 32: coordinate i is negated
    std::size_t length;  ///< coordinates, a power of two
    std::size_t block;  ///< coordinates of one transform
};

/// Factors that are applied in turn, and the largest magnitude of a result.
struct Scale {
    float mantissa;
    float powers[2];
    float limit;
};

/// Unit cells of [0, granularity]. Bits 0-7: level below; 8-15: gap to the next one; 16-23: code of the level below.
struct Cells {
    float granularity;
    float half;
    bool few;  ///< there are at most 32 cells, from 0 to the granularity
    std::uint32_t entries[256];
};

/// Number of workers in the lanes of a sum: ``offset`` is their number times the granularity. Where the number differs
/// between words, ``counts`` has the number for each accumulator word, and ``offset`` is the granularity.
struct LaneContributors {
    float offset;
    const float *counts;
    bool average;
};

/// Units of fixed-point integers: ``maxima[i] / peak`` for block i of ``block`` values.
struct BlockUnits {
    const float *maxima;
    double peak;
    std::size_t block;
};

/// Minimum number of coordinates, except for BASELINE: other levels process whole vectors, two at once.
constexpr std::size_t MIN_LENGTH = 32;

struct Kernels {
    void (*random_words)(const RandomKey &key, std::uint32_t *out, std::size_t count);
    void (*hadamard_transform)(float *values, std::size_t count, std::size_t block);
    double (*square_sum)(const float *values, std::size_t count);

    void (*rotate)(const float *values, std::size_t count, const float *powers, const Rotation &rotation, float *out);
    void (*quantize)(const float *rotated, std::size_t count, float factor, const Cells &cells, const RandomKey &key,
                     std::uint32_t *words);
    /// ``work``: floats for the padded chunk; ``out`` itself if that is as long.
    void (*decode)(const std::uint32_t *lanes, const LaneContributors &contributors, const Rotation &rotation,
                   const Scale &scale, float *work, float *out, std::size_t count);
    /// ``levels``: of the 16 codes, in halves of a step. ``included``: one per accumulator word, or null.
    void (*residual)(const std::uint32_t *codes, const float *levels, const std::uint8_t *included,
                     const Rotation &rotation, const Scale &scale, const float *values, float *work, float *out,
                     std::size_t count);

    void (*magnitudes)(const float *values, std::size_t count, std::size_t block, std::uint32_t *out);
    void (*to_integers)(const float *values, std::size_t count, const BlockUnits &units, std::int32_t *out);
    /// ``counts``: divisor of each value, or null for ``divisor``.
    void (*from_integers)(const std::int32_t *sums, std::size_t count, const BlockUnits &units, double divisor,
                          const double *counts, float *out);
    void (*integer_residual)(const float *values, const std::int32_t *integers, std::size_t count,
                             const BlockUnits &units, float *out);
    /// ``count``: number of contiguous rows of ``size`` values each, at least 1.
    void (*sum_rows)(const float *rows, std::size_t count, std::size_t size, double divisor, float *out);

    /// ``mask``: 1 for magnitudes whose bits are at least ``least_bits``.
    void (*not_below)(const float *values, std::size_t count, std::uint32_t least_bits, std::uint8_t *mask);
    /// ``mask``: 1 for the ``wanted`` largest magnitudes, at most ``count``; of equal ones the first, and no zeros.
    void (*largest)(const float *values, std::size_t count, std::size_t wanted, std::uint8_t *mask);

    BlockKernels blocks;
};

extern const Kernels BASELINE;
#if defined(__x86_64__)
extern const Kernels AVX2;
extern const Kernels AVX512;
#endif

/// Returns the kernels of a level that lanes/level.hpp lists for this processor.
const Kernels &kernels(std::string_view level);

}  // namespace lanesum::codecs
