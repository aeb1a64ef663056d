// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Kernels of ``thc`` on runs of blocks, with the bits of lanesum/codecs/thc/reference.py, which documents each of them.
// They work block by block, so a block stays in the first-level cache from its values to its codes and back.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lanesum::codecs {

/// Coordinates whose dithers come from the same eight blocks of the generator; the minimum length of a work space.
constexpr std::size_t DITHER_GROUP = 64;
/// Minimum padded length of a block.
constexpr std::size_t MIN_BLOCK = 32;

/// Coordinates whose codes or sums are digits of a word.
constexpr std::size_t MIN_PER_WORD = 3, MAX_PER_WORD = 16;

/// Returns the words of one block whose coordinates are ``per_word`` digits of each.
constexpr std::size_t words_of_digits(std::size_t length, std::size_t per_word) {
    return (length + per_word - 1) / per_word;
}

/// Layout of codes in uplink words, by lane operation.
enum class Packing : std::uint8_t { NIBBLES_TO_8, NIBBLES_TO_16, BYTES_TO_8, BYTES_TO_16, PLANES_3, PLANES_5 };

/// Vector of ``size`` values in blocks of ``block``; the last one is padded. ``work``: aligned space for one block.
struct Run {
    std::size_t size;
    std::size_t block;
    const std::uint32_t *signs;  ///< bit i % 32 of word i / 32: coordinate i of every block is negated
    float *work;
    const std::uint32_t *places = nullptr;  ///< number of each block in the caller's values, or null for all blocks
};

/// Key of the shared dithers of a run.
struct SharedDithers {
    std::uint32_t seed[2];
    std::uint32_t round;
    std::uint32_t first;  ///< number of the first block of the run
};

/// Rounding of one worker. ``cells``: 32 entries, or null if every integer is a level and its own code.
struct Rounding {
    float granularity;
    const std::uint8_t *cells;
    std::uint16_t offset;
    std::uint16_t flip;
    Packing packing;
};

/// Sum of dithers, to subtract from 65536 times a sum; see lanesum/codecs/thc/dither.py:DitherSum.
struct DitherSum {
    std::uint16_t multiplier;
    const std::uint16_t *offsets;
    std::size_t num_offsets;
    bool added;  ///< shifted dithers are added, otherwise subtracted
    std::uint32_t constant;
};

struct BlockKernels {
    void (*encode)(const float *values, const float *powers, const float *factors, const Run &run,
                   const SharedDithers &dithers, const Rounding &rounding, std::uint32_t *words);
    void (*estimate)(const std::uint32_t *lanes, unsigned lane_bits, const Run &run, const SharedDithers &dithers,
                     const DitherSum &sum, float *out);
    void (*restore)(const float *rotated, const float *factors, const Run &run, float *out);
    void (*decode)(const std::uint32_t *lanes, unsigned lane_bits, const float *factors, const Run &run,
                   const SharedDithers &dithers, const DitherSum &sum, float *out);
    /// ``levels``: of the 16 codes, or null if a code is its level.
    void (*residual)(const float *values, const std::uint32_t *words, Packing packing, const std::uint8_t *levels,
                     const float *factors, const Run &run, const SharedDithers &dithers, const DitherSum &sum,
                     float *out);
    /// Codes are bytes. The work space of a run has at least DITHER_GROUP floats, and one for each coordinate of a block.
    void (*pack_digits)(const std::uint32_t *codes, std::size_t per_word, const Run &run, std::uint32_t *words);
    void (*unpack_digits)(const std::uint32_t *words, std::size_t per_word, unsigned lane_bits, const Run &run,
                          std::uint32_t *lanes);
};

}  // namespace lanesum::codecs
