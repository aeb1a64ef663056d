// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "lanes/lanes.hpp"

#include <cassert>

#include "lanes/level.hpp"

namespace lanesum {
namespace {

constexpr std::uint8_t NO_TABLE[CODE_TABLE_ENTRIES] = {};

constexpr bool widened_codes_are_added() {
    for (const LaneShape &shape : LANE_SHAPES) {
        if (shape.widens() && shape.combine != Combine::ADD) {
            return false;
        }
    }
    return true;
}
static_assert(widened_codes_are_added(), "Kernels has widen_add only: add a kernel for the other combination");

const std::byte *bytes(std::span<const std::uint32_t> words) {
    return reinterpret_cast<const std::byte *>(words.data());
}

std::uint32_t index(LaneOp op) { return static_cast<std::uint32_t>(op); }

std::uint32_t combine_of(LaneOp op) { return static_cast<std::uint32_t>(shape_of(op).combine); }

}  // namespace

void contribute(LaneOp op, std::span<std::uint32_t> accumulator, const std::byte *payload, bool wide,
                const std::uint8_t *code_table, bool first) {
    const Kernels &run = *level().kernels;
    const std::size_t count = accumulator.size();
    std::uint32_t *const sums = accumulator.data();
    if (const Kernels::Widen widen = (first ? run.widen : run.widen_add)[index(op)]; widen != nullptr && !wide) {
        assert(fills(op, count));
        widen(sums, payload, count / shape_of(op).accumulator_words_per_group, code_table ? code_table : NO_TABLE);
    } else if (first) {
        load_words(accumulator, payload);
    } else {
        run.contribute[combine_of(op)](sums, payload, count);
    }
}

void merge(LaneOp op, std::span<std::uint32_t> accumulator, std::span<const std::uint32_t> words) {
    level().kernels->merge[combine_of(op)](accumulator.data(), words.data(), accumulator.size());
}

std::uint32_t sum_products(std::span<const std::uint32_t> words, const std::uint32_t *factors) {
    return level().kernels->sum_products(words.data(), factors, words.size());
}

LongSum sum_long_products(std::span<const std::uint32_t> words, const std::uint32_t *factors) {
    LongSum sum;
    level().kernels->sum_long_products(words.data(), factors, words.size(), &sum.low, &sum.high);
    return sum;
}

void store_words(std::byte *wire, std::span<const std::uint32_t> words) {
    const Kernels &run = *level().kernels;
    if (wire == bytes(words)) {
        run.swap_bytes_in_place(wire, words.size());
    } else {
        run.swap_bytes(wire, bytes(words), words.size());
    }
}

void load_words(std::span<std::uint32_t> words, const std::byte *wire) {
    const Kernels &run = *level().kernels;
    if (wire == bytes(words)) {
        run.swap_bytes_in_place(reinterpret_cast<std::byte *>(words.data()), words.size());
    } else {
        run.swap_bytes(reinterpret_cast<std::byte *>(words.data()), wire, words.size());
    }
}

}  // namespace lanesum
