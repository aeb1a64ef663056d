// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "lanes/lanes.hpp"

#include <algorithm>

#include "protocol/header.hpp"

namespace lanesum {
namespace {

constexpr std::uint32_t LOW_NIBBLES = 0x0F0F0F0F;

std::uint32_t combined(LaneOp op, std::uint32_t before, std::uint32_t word) {
    switch (op) {
        case LaneOp::OR:
            return before | word;
        case LaneOp::MAX:
            return std::max(before, word);
        default:
            return before + word;  // wraps, as the switch does
    }
}

std::uint32_t looked_up(std::uint32_t codes, const std::uint8_t *code_table) {
    if (code_table == nullptr) {
        return 0;
    }
    std::uint32_t word = 0;
    for (unsigned shift = 0; shift < 32; shift += 8) {
        word |= static_cast<std::uint32_t>(code_table[codes >> shift & 0xF]) << shift;
    }
    return word;
}

}  // namespace

void contribute(LaneOp op, std::span<std::uint32_t> accumulator, const std::byte *payload, bool wide,
                const std::uint8_t *code_table, bool first) {
    const std::uint32_t widening = wide ? 1 : WIDENING[static_cast<std::uint32_t>(op)];
    for (std::size_t i = 0; i < accumulator.size(); ++i) {
        std::uint32_t word = load_be32(payload + i / widening * WORD_BYTES);
        if (widening == 2) {
            word = word >> (i % 2 ? 4 : 0) & LOW_NIBBLES;
            if (op == LaneOp::TABLE8) {
                word = looked_up(word, code_table);
            }
        }
        accumulator[i] = first ? word : combined(op, accumulator[i], word);
    }
}

void merge(LaneOp op, std::span<std::uint32_t> accumulator, std::span<const std::uint32_t> words) {
    for (std::size_t i = 0; i < accumulator.size(); ++i) {
        accumulator[i] = combined(op, accumulator[i], words[i]);
    }
}

void store_words(std::byte *wire, std::span<const std::uint32_t> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        store_be32(wire + i * WORD_BYTES, words[i]);
    }
}

void load_words(std::span<std::uint32_t> words, const std::byte *wire) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        words[i] = load_be32(wire + i * WORD_BYTES);
    }
}

}  // namespace lanesum
