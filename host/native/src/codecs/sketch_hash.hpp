// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Hashes of keys, as in lanesum/codecs/sparse/hashing.py.
#pragma once

#include <algorithm>
#include <cstdint>

#include "codecs/sketch.hpp"

namespace lanesum::codecs::sketch {

constexpr std::uint64_t STEP = 0x9E3779B97F4A7C15;

inline std::uint64_t mixed(std::uint64_t word) {
    word ^= word >> 33;
    word *= 0xFF51AFD7ED558CCD;
    word ^= word >> 33;
    word *= 0xC4CEB9FE1A85EC53;
    return word ^ word >> 33;
}

/// Three cells of a key. Bit i of ``signs`` is set if its sign in cell i is -1.
struct Placed {
    std::uint32_t cells[3];
    std::uint32_t signs;

    /// Returns the sign in one of the cells: 1 or -1 modulo 2**32.
    std::uint32_t factor(unsigned number) const { return 1u - 2u * (signs >> number & 1u); }
};

inline Placed place(std::uint32_t key, std::uint64_t seed, Cells cells) {
    const std::uint64_t first = mixed(key * STEP + seed);
    const std::uint64_t second = mixed(first + STEP);
    std::uint64_t a, b, c;
    if (cells.segment != 0) {
        const std::uint64_t within = cells.segment - 1;
        a = (first >> 32) * (cells.count - 2 * cells.segment) >> 32;
        b = (a + cells.segment) ^ (first & within);
        c = (a + 2 * cells.segment) ^ (second >> 32 & within);
    } else {
        a = (first >> 32) * cells.count >> 32;
        b = (first & 0xFFFFFFFF) * (cells.count - 1) >> 32;
        b += b >= a;
        c = (second >> 32) * (cells.count - 2) >> 32;
        c += c >= std::min(a, b);
        c += c >= std::max(a, b);
    }
    return {{static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(c)},
            static_cast<std::uint32_t>(second & 7)};
}

/// Words and rotations of a group of 64 keys in a Bloom filter, one hash after the other.
class FilterPlaces {
public:
    FilterPlaces(std::uint64_t group, std::uint64_t seed, std::uint64_t words) : words_(words) {
        const std::uint64_t first = mixed(group * STEP + seed);
        const std::uint64_t second = mixed(first + STEP);
        place_ = static_cast<std::uint32_t>(first);
        place_step_ = static_cast<std::uint32_t>(first >> 32) | 1u;
        turn_ = static_cast<std::uint32_t>(second);
        turn_step_ = static_cast<std::uint32_t>(second >> 32) | 1u;
    }
    std::uint64_t word() const { return place_ * words_ >> 32; }
    int turn() const { return static_cast<int>(turn_ >> 26); }
    void next() {
        place_ += place_step_;
        turn_ += turn_step_;
    }

private:
    std::uint64_t words_;
    std::uint32_t place_, place_step_, turn_, turn_step_;
};

}  // namespace lanesum::codecs::sketch
