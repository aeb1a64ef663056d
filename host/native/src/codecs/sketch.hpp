// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Kernels of the sparse codecs, with the bits of lanesum/codecs/sparse/reference.py, which documents each of them. They
// access memory at random, so wider vectors would not help: all processors use the same kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lanesum::codecs::sketch {

/// Cells of a sketch, and the length of a segment: a power of two, or 0 if keys use any three cells.
struct Cells {
    std::uint64_t count;
    std::uint64_t segment;
};

struct Keys {
    const std::uint32_t *data;
    std::size_t size;
};

struct Nonzero {
    std::size_t keys;
    std::uint32_t largest;  ///< bits of the largest magnitude
};

Nonzero nonzero_blocks(const float *values, std::size_t count, std::size_t block, std::uint32_t *keys);

/// Requires keys below the number of blocks.
void gather_integers(const float *values, std::size_t count, Keys keys, std::size_t block, int exponent,
                     std::int32_t peak, std::uint32_t *integers);

void insert(const std::uint32_t *integers, Keys keys, std::size_t block, std::uint64_t seed, Cells cells,
            std::uint32_t *sketch);

/// Order in which keys can be peeled from a sketch.
struct Order {
    struct Step {
        std::uint32_t key;  ///< index among the keys
        std::uint32_t signs;  ///< as in ``Placed``; bits 3 and up: number of the cell in which the key is alone
        std::uint32_t cells[3];
    };
    std::vector<Step> steps;
    std::size_t keys;
    std::uint64_t cells;
};

/// Returns the number of indices of keys in ``left``, which has an entry for each key.
std::size_t peeling_order(Keys keys, std::uint64_t seed, Cells cells, Order &order, std::uint32_t *left);

void peel(std::uint32_t *integers, const Order &order, std::size_t block, std::uint32_t *sketch);

/// ``count``: number of values. Requires keys below the number of blocks.
void scatter_floats(const std::uint32_t *integers, Keys keys, std::size_t block, int exponent, double divisor,
                    float *values, std::size_t count);

/// ``counts``: numbers of blocks of 1, 2, 4... values, for ``levels`` lengths.
void count_blocks(const std::uint32_t *integers, Keys keys, std::size_t block, std::int64_t *counts,
                  std::size_t levels);

/// Requires keys below 32 times the number of words.
void set_bits(Keys keys, std::uint32_t *words);

/// ``blocks``: limit of the keys. Returns the number of keys in ``keys``.
std::size_t keys_of_bits(const std::uint32_t *words, std::size_t blocks, std::uint32_t *keys);

void fill_filter(Keys keys, std::uint64_t seed, unsigned hashes, std::uint32_t *words, std::size_t count);

std::size_t keys_of_filter(const std::uint32_t *words, std::size_t count, std::uint64_t seed, unsigned hashes,
                           std::size_t blocks, std::uint32_t *keys);

}  // namespace lanesum::codecs::sketch
