// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "codecs/sketch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "codecs/sketch_hash.hpp"

namespace lanesum::codecs::sketch {
namespace {

constexpr std::uint32_t MAGNITUDE = 0x7FFFFFFF;
// Values that are tested at once: usually all are zero.
constexpr std::size_t STRIDE = 16;
// Keys whose cells are prefetched while those of earlier keys are updated.
constexpr std::size_t AHEAD = 32;
// Keys that share the words of a Bloom filter.
constexpr std::uint32_t GROUP = 64;

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

/// Returns the largest magnitude of up to STRIDE values, as signed bits: all processors compare vectors of signed
/// integers.
std::int32_t largest_of(const float *values, std::size_t count) {
    std::int32_t largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const auto magnitude = static_cast<std::int32_t>(bits_of(values[i]) & MAGNITUDE);
        largest = largest < magnitude ? magnitude : largest;
    }
    return largest;
}

/// Returns numpy.rint of the value in units, cut to plus and minus the peak, which is below 2**31.
std::int32_t to_integer(float value, double factor, double peak) {
    // The sum with this constant has no bits for fractions, so the addition rounds half to even.
    constexpr double no_fraction = 0x1.8p52;
    double scaled = value * factor;
    scaled = scaled > peak ? peak : scaled;
    scaled = scaled < -peak ? -peak : scaled;
    return static_cast<std::int32_t>(std::bit_cast<std::uint64_t>(scaled + no_fraction));
}

void add_row(std::uint32_t *row, const std::uint32_t *integers, std::size_t block, std::uint32_t factor) {
    for (std::size_t i = 0; i < block; ++i) {
        row[i] += integers[i] * factor;
    }
}

void fetch(const void *address) { __builtin_prefetch(address, 1); }

/// Appends the keys of the bits that are set, from key ``first`` and below ``blocks``.
std::uint32_t *put_keys(std::uint64_t bits, std::size_t first, std::size_t blocks, std::uint32_t *out) {
    if (blocks - first < 64) {
        bits &= (1ull << (blocks - first)) - 1;
    }
    for (; bits != 0; bits &= bits - 1) {
        *out++ = static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(std::countr_zero(bits));
    }
    return out;
}

struct Cell {
    std::uint32_t degree = 0;
    std::uint32_t members = 0;  // exclusive or of the indices of the keys: the index itself once it is alone
};

}  // namespace

Nonzero nonzero_blocks(const float *values, std::size_t count, std::size_t block, std::uint32_t *keys) {
    std::uint32_t *out = keys;
    std::int32_t largest = 0;
    std::uint64_t next = 0;  // first block that is not among the keys yet
    for (std::size_t start = 0; start < count; start += STRIDE) {
        const std::size_t size = std::min(STRIDE, count - start);
        const std::int32_t here =
            size == STRIDE ? largest_of(values + start, STRIDE) : largest_of(values + start, size);
        if (here == 0) {
            continue;
        }
        largest = std::max(largest, here);
        if (block == 1) {
            // No branch can be predicted here.
            for (std::size_t i = start; i < start + size; ++i) {
                *out = static_cast<std::uint32_t>(i);
                out += (bits_of(values[i]) & MAGNITUDE) != 0;
            }
            continue;
        }
        for (std::size_t i = start; i < start + size; ++i) {
            if ((bits_of(values[i]) & MAGNITUDE) != 0 && i / block >= next) {
                *out++ = static_cast<std::uint32_t>(i / block);
                next = i / block + 1;
            }
        }
    }
    return {static_cast<std::size_t>(out - keys), static_cast<std::uint32_t>(largest)};
}

void gather_integers(const float *values, std::size_t count, Keys keys, std::size_t block, int exponent,
                     std::int32_t peak, std::uint32_t *integers) {
    const double factor = std::ldexp(1.0, -exponent);
    for (std::size_t k = 0; k < keys.size; ++k, integers += block) {
        const std::size_t start = keys.data[k] * block;
        const std::size_t size = std::min(block, count - start);
        for (std::size_t i = 0; i < size; ++i) {
            integers[i] = static_cast<std::uint32_t>(to_integer(values[start + i], factor, peak));
        }
        std::fill(integers + size, integers + block, 0u);
    }
}

void insert(const std::uint32_t *integers, Keys keys, std::size_t block, std::uint64_t seed, Cells cells,
            std::uint32_t *sketch) {
    Placed placed[AHEAD];
    for (std::size_t first = 0; first < keys.size; first += AHEAD) {
        const std::size_t size = std::min(AHEAD, keys.size - first);
        for (std::size_t k = 0; k < size; ++k) {
            placed[k] = place(keys.data[first + k], seed, cells);
            for (const std::uint32_t cell : placed[k].cells) {
                fetch(sketch + cell * block);
            }
        }
        for (std::size_t k = 0; k < size; ++k) {
            for (unsigned j = 0; j < 3; ++j) {
                add_row(sketch + placed[k].cells[j] * block, integers + (first + k) * block, block,
                        placed[k].factor(j));
            }
        }
    }
}

std::size_t peeling_order(Keys keys, std::uint64_t seed, Cells cells, Order &order, std::uint32_t *left) {
    order.keys = keys.size;
    order.cells = cells.count;
    order.steps.clear();
    order.steps.reserve(keys.size);
    std::vector<Cell> table(cells.count);
    Placed placed[AHEAD];
    for (std::size_t first = 0; first < keys.size; first += AHEAD) {
        const std::size_t size = std::min(AHEAD, keys.size - first);
        for (std::size_t k = 0; k < size; ++k) {
            placed[k] = place(keys.data[first + k], seed, cells);
            for (const std::uint32_t cell : placed[k].cells) {
                fetch(&table[cell]);
            }
        }
        for (std::size_t k = 0; k < size; ++k) {
            for (const std::uint32_t cell : placed[k].cells) {
                ++table[cell].degree;
                table[cell].members ^= static_cast<std::uint32_t>(first + k);
            }
        }
    }
    // Cells with one key, in the order in which the other keys were removed; each cell occurs once.
    std::vector<std::uint32_t> pure;
    pure.reserve(cells.count);
    for (std::size_t cell = 0; cell < cells.count; ++cell) {
        if (table[cell].degree == 1) {
            pure.push_back(static_cast<std::uint32_t>(cell));
        }
    }
    std::vector<bool> read(keys.size);
    for (std::size_t next = 0; next < pure.size(); ++next) {
        if (next + 2 * AHEAD < pure.size()) {
            fetch(&table[pure[next + 2 * AHEAD]]);
        }
        if (next + AHEAD < pure.size()) {
            // The key may have been peeled already; the prefetch is harmless.
            const Cell &later = table[pure[next + AHEAD]];
            if (later.degree == 1) {
                for (const std::uint32_t cell : place(keys.data[later.members], seed, cells).cells) {
                    fetch(&table[cell]);
                }
            }
        }
        const std::uint32_t pivot = pure[next];
        if (table[pivot].degree != 1) {
            continue;
        }
        const std::uint32_t key = table[pivot].members;
        const Placed at = place(keys.data[key], seed, cells);
        read[key] = true;
        const unsigned number = at.cells[0] == pivot ? 0 : at.cells[1] == pivot ? 1 : 2;
        order.steps.push_back({key, at.signs | number << 3, {at.cells[0], at.cells[1], at.cells[2]}});
        for (const std::uint32_t other : at.cells) {
            Cell &cell = table[other];
            --cell.degree;
            cell.members ^= key;
            if (cell.degree == 1) {
                pure.push_back(other);
            }
        }
    }
    std::size_t count = 0;
    for (std::size_t k = 0; k < keys.size; ++k) {
        if (!read[k]) {
            left[count++] = static_cast<std::uint32_t>(k);
        }
    }
    return count;
}

void peel(std::uint32_t *integers, const Order &order, std::size_t block, std::uint32_t *sketch) {
    std::fill(integers, integers + order.keys * block, 0u);
    const std::vector<Order::Step> &steps = order.steps;
    for (std::size_t next = 0; next < steps.size(); ++next) {
        if (next + AHEAD < steps.size()) {
            const Order::Step &later = steps[next + AHEAD];
            for (const std::uint32_t cell : later.cells) {
                fetch(sketch + cell * block);
            }
            fetch(integers + later.key * block);
        }
        const Order::Step &step = steps[next];
        const Placed at{{step.cells[0], step.cells[1], step.cells[2]}, step.signs};
        const unsigned number = step.signs >> 3;
        std::uint32_t *found = integers + step.key * block;
        add_row(found, sketch + step.cells[number] * block, block, at.factor(number));
        for (unsigned j = 0; j < 3; ++j) {
            add_row(sketch + step.cells[j] * block, found, block, 0u - at.factor(j));
        }
    }
}

void scatter_floats(const std::uint32_t *integers, Keys keys, std::size_t block, int exponent, double divisor,
                    float *values, std::size_t count) {
    const double factor = std::ldexp(1.0, exponent);
    for (std::size_t k = 0; k < keys.size; ++k, integers += block) {
        const std::size_t start = keys.data[k] * block;
        const std::size_t size = std::min(block, count - start);
        for (std::size_t i = 0; i < size; ++i) {
            const double value = static_cast<double>(static_cast<std::int32_t>(integers[i])) * factor;
            values[start + i] = static_cast<float>(value / divisor);
        }
    }
}

void count_blocks(const std::uint32_t *integers, Keys keys, std::size_t block, std::int64_t *counts,
                  std::size_t levels) {
    // A value starts a new block of every length for which its position and the last one are in different blocks.
    std::int64_t opened[65] = {};
    std::uint64_t last = ~0ull;
    for (std::size_t k = 0; k < keys.size; ++k, integers += block) {
        for (std::size_t i = 0; i < block; ++i) {
            if (integers[i] != 0) {
                const std::uint64_t at = static_cast<std::uint64_t>(keys.data[k]) * block + i;
                ++opened[std::bit_width(at ^ last)];
                last = at;
            }
        }
    }
    std::int64_t sum = 0;
    for (std::size_t width = 64; width > levels; --width) {
        sum += opened[width];
    }
    for (std::size_t level = levels; level-- > 0;) {
        sum += opened[level + 1];
        counts[level] = sum;
    }
}

void set_bits(Keys keys, std::uint32_t *words) {
    for (std::size_t k = 0; k < keys.size; ++k) {
        words[keys.data[k] / 32] |= 1u << keys.data[k] % 32;
    }
}

std::size_t keys_of_bits(const std::uint32_t *words, std::size_t blocks, std::uint32_t *keys) {
    std::uint32_t *out = keys;
    for (std::size_t first = 0; first < blocks; first += 32) {
        out = put_keys(words[first / 32], first, blocks, out);
    }
    return static_cast<std::size_t>(out - keys);
}

void fill_filter(Keys keys, std::uint64_t seed, unsigned hashes, std::uint32_t *words, std::size_t count) {
    for (std::size_t k = 0; k < keys.size;) {
        const std::uint32_t group = keys.data[k] / GROUP;
        std::uint64_t bits = 0;
        for (; k < keys.size && keys.data[k] / GROUP == group; ++k) {
            bits |= 1ull << keys.data[k] % GROUP;
        }
        FilterPlaces places(group, seed, count / 2);
        for (unsigned j = 0; j < hashes; ++j, places.next()) {
            const std::uint64_t turned = std::rotl(bits, places.turn());
            std::uint32_t *halves = words + 2 * places.word();
            halves[0] |= static_cast<std::uint32_t>(turned);
            halves[1] |= static_cast<std::uint32_t>(turned >> 32);
        }
    }
}

std::size_t keys_of_filter(const std::uint32_t *words, std::size_t count, std::uint64_t seed, unsigned hashes,
                           std::size_t blocks, std::uint32_t *keys) {
    std::uint32_t *out = keys;
    for (std::size_t first = 0; first < blocks; first += GROUP) {
        FilterPlaces places(first / GROUP, seed, count / 2);
        std::uint64_t bits = ~0ull;
        for (unsigned j = 0; j < hashes; ++j, places.next()) {
            const std::uint32_t *halves = words + 2 * places.word();
            bits &= std::rotr(halves[0] | static_cast<std::uint64_t>(halves[1]) << 32, places.turn());
        }
        out = put_keys(bits, first, blocks, out);
    }
    return static_cast<std::size_t>(out - keys);
}

}  // namespace lanesum::codecs::sketch
