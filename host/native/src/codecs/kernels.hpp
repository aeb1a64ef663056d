// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// The loops of the codecs, one set for each level of vector instructions. Each has the bits of its twin in
// lanesum/codecs/reference.py: the same IEEE operations on every element in the same order, never contracted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "codecs/blocks.hpp"

namespace lanesum::codecs {

/// Names a stream of random words as in lanesum/codecs/random.py: key words, and counter words 1 to 3.
struct RandomKey {
    std::uint32_t seed[2];
    std::uint32_t chunk;
    std::uint32_t round;
    std::uint32_t stream_and_worker;
};

/// The randomized Hadamard transform of one padded chunk.
struct Rotation {
    const std::uint32_t *signs;  ///< bit i % 32 of word i / 32: coordinate i is negated
    std::size_t length;          ///< coordinates, a power of two
    std::size_t block;           ///< coordinates of one transform
};

/// Factors that are applied one after the other, and the largest magnitude that is left.
struct Scale {
    float mantissa;
    float powers[2];
    float limit;
};

/// Unit cells of [0, granularity]: bits 0-7 the level below, 8-15 the gap to the next one, 16-23 the code below.
struct Cells {
    float granularity;
    float half;
    bool few;  ///< no more than 32 cells, counted from 0 to the granularity
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

/// Fewer coordinates than this are for BASELINE's loops: others take whole vectors, two at a time.
constexpr std::size_t MIN_LENGTH = 32;

struct Kernels {
    void (*random_words)(const RandomKey &key, std::uint32_t *out, std::size_t count);
    void (*hadamard_transform)(float *values, std::size_t count, std::size_t block);
    double (*square_sum)(const float *values, std::size_t count);

    void (*rotate)(const float *values, std::size_t count, const float *powers, const Rotation &rotation, float *out);
    void (*quantize)(const float *rotated, std::size_t count, float factor, const Cells &cells, const RandomKey &key,
                     std::uint32_t *words);
    /// ``work``: as many floats as the padded chunk has; ``out`` itself where that is as long.
    void (*decode)(const std::uint32_t *lanes, const LaneContributors &contributors, const Rotation &rotation,
                   const Scale &scale, float *work, float *out, std::size_t count);
    /// ``levels``: what the 16 codes stand for, in halves of a step. ``included``: one per accumulator word, or null.
    void (*residual)(const std::uint32_t *codes, const float *levels, const std::uint8_t *included,
                     const Rotation &rotation, const Scale &scale, const float *values, float *work, float *out,
                     std::size_t count);

    void (*magnitudes)(const float *values, std::size_t count, std::size_t block, std::uint32_t *out);
    void (*to_integers)(const float *values, std::size_t count, const BlockUnits &units, std::int32_t *out);
    /// ``counts``: one per value to divide by, or null: all are divided by ``divisor``.
    void (*from_integers)(const std::int32_t *sums, std::size_t count, const BlockUnits &units, double divisor,
                          const double *counts, float *out);
    void (*integer_residual)(const float *values, const std::int32_t *integers, std::size_t count,
                             const BlockUnits &units, float *out);
    /// ``count`` rows of ``size`` values each, one behind the other; one at least.
    void (*sum_rows)(const float *rows, std::size_t count, std::size_t size, double divisor, float *out);

    /// ``mask``: 1 where a magnitude's bits are no less than these.
    void (*not_below)(const float *values, std::size_t count, std::uint32_t least_bits, std::uint8_t *mask);
    /// ``mask``: 1 at the ``wanted`` largest magnitudes, no more than ``count``; of equal ones the first, and no zeros.
    void (*largest)(const float *values, std::size_t count, std::size_t wanted, std::uint8_t *mask);

    BlockKernels blocks;
};

extern const Kernels BASELINE;
#if defined(__x86_64__)
extern const Kernels AVX2;
extern const Kernels AVX512;
#endif

/// Those of one of the levels that lanes/level.hpp says this processor has.
const Kernels &kernels(std::string_view level);

}  // namespace lanesum::codecs
