// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// The loops of the sparse codecs; lanesum/codecs/sketch_reference.py says what each of them does, to the bit. They walk
// through memory at random, so that wider vectors would not help: one set of them for all processors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lanesum::codecs::sketch {

/// A sketch's cells, and the length of its segments: a power of two, or 0 where keys go to any three cells.
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

/// Keys are below the number of blocks.
void gather_integers(const float *values, std::size_t count, Keys keys, std::size_t block, int exponent,
                     std::int32_t peak, std::uint32_t *integers);

void insert(const std::uint32_t *integers, Keys keys, std::size_t block, std::uint64_t seed, Cells cells,
            std::uint32_t *sketch);

/// In which order keys can be read from a sketch.
struct Order {
    struct Step {
        std::uint32_t key;    ///< its place among the keys
        std::uint32_t signs;  ///< as of ``Placed``; bits 3 and up: in which of the cells it is alone by then
        std::uint32_t cells[3];
    };
    std::vector<Step> steps;
    std::size_t keys;
    std::uint64_t cells;
};

/// Returns how many places of keys are in ``left``, which has room for all.
std::size_t peeling_order(Keys keys, std::uint64_t seed, Cells cells, Order &order, std::uint32_t *left);

void peel(std::uint32_t *integers, const Order &order, std::size_t block, std::uint32_t *sketch);

/// ``count``: of the values. Keys are below the number of blocks.
void scatter_floats(const std::uint32_t *integers, Keys keys, std::size_t block, int exponent, double divisor,
                    float *values, std::size_t count);

/// ``counts``: of blocks of 1, 2, 4... values, ``levels`` of them.
void count_blocks(const std::uint32_t *integers, Keys keys, std::size_t block, std::int64_t *counts,
                  std::size_t levels);

/// Keys are below 32 times the words.
void set_bits(Keys keys, std::uint32_t *words);

/// ``blocks``: keys there may be. Returns how many are in ``keys``.
std::size_t keys_of_bits(const std::uint32_t *words, std::size_t blocks, std::uint32_t *keys);

void fill_filter(Keys keys, std::uint64_t seed, unsigned hashes, std::uint32_t *words, std::size_t count);

std::size_t keys_of_filter(const std::uint32_t *words, std::size_t count, std::uint64_t seed, unsigned hashes,
                           std::size_t blocks, std::uint32_t *keys);

}  // namespace lanesum::codecs::sketch
