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

inline std::uint32_t low_nibbles(std::uint32_t word) { return word & 0x0F0F0F0F; }

inline std::uint32_t looked_up(std::uint32_t codes, const std::uint8_t *code_table) {
    std::uint32_t word = 0;
    for (unsigned shift = 0; shift < 32; shift += 8) {
        word |= static_cast<std::uint32_t>(code_table[codes >> shift & 0xF]) << shift;
    }
    return word;
}

template <typename Combine, bool LOOK_UP>
void widen_by_word(std::uint32_t *__restrict accumulator, const std::byte *__restrict payload, std::size_t count,
                   const std::uint8_t *code_table) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t word = load_be32(payload + i * WORD_BYTES);
        std::uint32_t low = low_nibbles(word);
        std::uint32_t high = low_nibbles(word >> 4);
        if constexpr (LOOK_UP) {
            low = looked_up(low, code_table);
            high = looked_up(high, code_table);
        }
        accumulator[2 * i] = Combine::combined(accumulator[2 * i], low);
        accumulator[2 * i + 1] = Combine::combined(accumulator[2 * i + 1], high);
    }
}

template <typename Combine, LaneOp OP>
void widen_groups(std::uint32_t *__restrict accumulator, const std::byte *__restrict payload, std::size_t groups) {
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

template <template <typename, bool> typename Widen, template <typename, LaneOp> typename Groups>
constexpr Kernels kernels() {
    return {
        .add = contribute<Add>,
        .bit_or = contribute<Or>,
        .max = contribute<Max>,
        .merge_add = merge<Add>,
        .merge_or = merge<Or>,
        .merge_max = merge<Max>,
        .expand = Widen<Put, false>::run,
        .expand_add = Widen<Add, false>::run,
        .look_up = Widen<Put, true>::run,
        .look_up_add = Widen<Add, true>::run,
        .put_16 = Groups<Put, LaneOp::EXPAND16>::run,
        .add_16 = Groups<Add, LaneOp::EXPAND16>::run,
        .put_8_to_16 = Groups<Put, LaneOp::EXPAND8TO16>::run,
        .add_8_to_16 = Groups<Add, LaneOp::EXPAND8TO16>::run,
        .put_3_to_8 = Groups<Put, LaneOp::EXPAND3TO8>::run,
        .add_3_to_8 = Groups<Add, LaneOp::EXPAND3TO8>::run,
        .put_5_to_8 = Groups<Put, LaneOp::EXPAND5TO8>::run,
        .add_5_to_8 = Groups<Add, LaneOp::EXPAND5TO8>::run,
        .turn = turn,
        .turn_in_place = turn_in_place,
    };
}
