// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// The loops that compilers vectorise as well as anybody. Each level's file includes this once, in its own namespace and
// compiled for its own instructions.

struct Add {
    // Wraps, as the switch does.
    static std::uint32_t combined(std::uint32_t before, std::uint32_t word) { return before + word; }
};
struct Or {
    static std::uint32_t combined(std::uint32_t before, std::uint32_t word) { return before | word; }
};
struct Max {
    static std::uint32_t combined(std::uint32_t before, std::uint32_t word) { return before < word ? word : before; }
};
struct Put {
    static std::uint32_t combined(std::uint32_t, std::uint32_t word) { return word; }
};

template <typename Combine>
void contribute(std::uint32_t *__restrict accumulator, const std::byte *__restrict payload, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        accumulator[i] = Combine::combined(accumulator[i], load_be32(payload + i * WORD_BYTES));
    }
}

template <typename Combine>
void merge(std::uint32_t *__restrict accumulator, const std::uint32_t *__restrict words, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        accumulator[i] = Combine::combined(accumulator[i], words[i]);
    }
}

inline std::uint32_t looked_up(std::uint32_t codes, const std::uint8_t *code_table) {
    std::uint32_t word = 0;
    for (unsigned shift = 0; shift < 32; shift += 8) {
        word |= static_cast<std::uint32_t>(code_table[codes >> shift & 0xF]) << shift;
    }
    return word;
}

template <typename Combine, LaneOp OP>
void widen_groups(std::uint32_t *__restrict accumulator, const std::byte *__restrict payload, std::size_t groups,
                  [[maybe_unused]] const std::uint8_t *code_table) {
    constexpr LaneShape SHAPE = LANE_SHAPES[static_cast<std::uint32_t>(OP)];
    for (std::size_t i = 0; i < groups; ++i) {
        std::uint32_t sent[SHAPE.uplink_words_per_group];
        for (std::uint32_t plane = 0; plane < SHAPE.uplink_words_per_group; ++plane) {
            sent[plane] = load_be32(payload + plane * WORD_BYTES);
        }
        for (std::uint32_t j = 0; j < SHAPE.accumulator_words_per_group; ++j) {
            std::uint32_t word = 0;
            for (std::uint32_t plane = 0; plane < SHAPE.uplink_words_per_group; ++plane) {
                word |= (sent[plane] >> j * SHAPE.shift & SHAPE.mask) << plane;
            }
            if constexpr (OP == LaneOp::TABLE8) {
                word = looked_up(word, code_table);
            }
            accumulator[j] = Combine::combined(accumulator[j], word);
        }
        payload += SHAPE.uplink_words_per_group * WORD_BYTES;
        accumulator += SHAPE.accumulator_words_per_group;
    }
}

inline void turn(std::byte *__restrict to, const std::byte *__restrict from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t word;
        __builtin_memcpy(&word, from + i * WORD_BYTES, WORD_BYTES);
        store_be32(to + i * WORD_BYTES, word);
    }
}

inline void turn_in_place(std::byte *words, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t word;
        __builtin_memcpy(&word, words + i * WORD_BYTES, WORD_BYTES);
        store_be32(words + i * WORD_BYTES, word);
    }
}

template <typename Combine, template <typename, LaneOp> typename Widen>
constexpr Kernels::ForEachOp widening() {
    Kernels::ForEachOp found{};
    found[static_cast<std::uint32_t>(LaneOp::EXPAND8)] = Widen<Combine, LaneOp::EXPAND8>::run;
    found[static_cast<std::uint32_t>(LaneOp::TABLE8)] = Widen<Combine, LaneOp::TABLE8>::run;
    found[static_cast<std::uint32_t>(LaneOp::EXPAND16)] = Widen<Combine, LaneOp::EXPAND16>::run;
    found[static_cast<std::uint32_t>(LaneOp::EXPAND8TO16)] = Widen<Combine, LaneOp::EXPAND8TO16>::run;
    found[static_cast<std::uint32_t>(LaneOp::EXPAND3TO8)] = Widen<Combine, LaneOp::EXPAND3TO8>::run;
    found[static_cast<std::uint32_t>(LaneOp::EXPAND5TO8)] = Widen<Combine, LaneOp::EXPAND5TO8>::run;
    return found;
}

template <template <typename, LaneOp> typename Widen>
constexpr Kernels kernels() {
    return {
        .add = contribute<Add>,
        .bit_or = contribute<Or>,
        .max = contribute<Max>,
        .merge_add = merge<Add>,
        .merge_or = merge<Or>,
        .merge_max = merge<Max>,
        .widen = widening<Put, Widen>(),
        .widen_add = widening<Add, Widen>(),
        .turn = turn,
        .turn_in_place = turn_in_place,
    };
}
