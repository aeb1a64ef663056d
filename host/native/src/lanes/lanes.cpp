// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "lanes/lanes.hpp"

#include <cassert>

#include "lanes/level.hpp"

namespace lanesum {
namespace {

constexpr std::uint8_t NO_TABLE[CODE_TABLE_ENTRIES] = {};

/// How sums of ``op`` come together: what widens is added.
constexpr LaneOp wide_of(LaneOp op) { return op == LaneOp::OR || op == LaneOp::MAX ? op : LaneOp::ADD32; }

const std::byte *bytes(std::span<const std::uint32_t> words) {
    return reinterpret_cast<const std::byte *>(words.data());
}

}  // namespace

void contribute(LaneOp op, std::span<std::uint32_t> accumulator, const std::byte *payload, bool wide,
                const std::uint8_t *code_table, bool first) {
    const Kernels &run = *level().kernels;
    const std::size_t count = accumulator.size();
    std::uint32_t *const sums = accumulator.data();
    const std::size_t groups = count / shape_of(op).accumulator_words_per_group;
    assert(wide || fills(op, count));
    switch (wide ? wide_of(op) : op) {
        case LaneOp::EXPAND8:
            return (first ? run.expand : run.expand_add)(sums, payload, groups, nullptr);
        case LaneOp::TABLE8:
            return (first ? run.look_up : run.look_up_add)(sums, payload, groups, code_table ? code_table : NO_TABLE);
        case LaneOp::EXPAND16:
            return (first ? run.put_16 : run.add_16)(sums, payload, groups);
        case LaneOp::EXPAND8TO16:
            return (first ? run.put_8_to_16 : run.add_8_to_16)(sums, payload, groups);
        case LaneOp::EXPAND3TO8:
            return (first ? run.put_3_to_8 : run.add_3_to_8)(sums, payload, groups);
        case LaneOp::EXPAND5TO8:
            return (first ? run.put_5_to_8 : run.add_5_to_8)(sums, payload, groups);
        case LaneOp::ADD32:
        case LaneOp::ADD8X4:
            return first ? load_words(accumulator, payload) : run.add(sums, payload, count);
        case LaneOp::OR:
            return first ? load_words(accumulator, payload) : run.bit_or(sums, payload, count);
        case LaneOp::MAX:
            return first ? load_words(accumulator, payload) : run.max(sums, payload, count);
    }
}

void merge(LaneOp op, std::span<std::uint32_t> accumulator, std::span<const std::uint32_t> words) {
    const Kernels &run = *level().kernels;
    const Kernels::Merge combine = op == LaneOp::OR ? run.merge_or : op == LaneOp::MAX ? run.merge_max : run.merge_add;
    combine(accumulator.data(), words.data(), accumulator.size());
}

void store_words(std::byte *wire, std::span<const std::uint32_t> words) {
    const Kernels &run = *level().kernels;
    if (wire == bytes(words)) {
        run.turn_in_place(wire, words.size());
    } else {
        run.turn(wire, bytes(words), words.size());
    }
}

void load_words(std::span<std::uint32_t> words, const std::byte *wire) {
    const Kernels &run = *level().kernels;
    if (wire == bytes(words)) {
        run.turn_in_place(reinterpret_cast<std::byte *>(words.data()), words.size());
    } else {
        run.turn(reinterpret_cast<std::byte *>(words.data()), wire, words.size());
    }
}

}  // namespace lanesum
