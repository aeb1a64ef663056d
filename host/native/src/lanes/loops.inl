// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Loops that compilers vectorize well. The file of each level includes this one in its own namespace, compiled for its
// own instructions.

struct Add {
    // Wraps, as in the switch.
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

template <typename Combiner>
void contribute(std::uint32_t *__restrict accumulator, const std::byte *__restrict payload, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        accumulator[i] = Combiner::combined(accumulator[i], load_be32(payload + i * WORD_BYTES));
    }
}

template <typename Combiner>
void merge(std::uint32_t *__restrict accumulator, const std::uint32_t *__restrict words, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        accumulator[i] = Combiner::combined(accumulator[i], words[i]);
    }
}

inline std::uint32_t looked_up(std::uint32_t codes, const std::uint8_t *code_table) {
    std::uint32_t word = 0;
    for (unsigned shift = 0; shift < 32; shift += 8) {
        word |= static_cast<std::uint32_t>(code_table[codes >> shift & 0xF]) << shift;
    }
    return word;
}

template <typename Combiner, LaneOp OP>
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
            if constexpr (SHAPE.lookup) {
                word = looked_up(word, code_table);
            }
            accumulator[j] = Combiner::combined(accumulator[j], word);
        }
        payload += SHAPE.uplink_words_per_group * WORD_BYTES;
        accumulator += SHAPE.accumulator_words_per_group;
    }
}

inline std::uint32_t sum_products(const std::uint32_t *words, const std::uint32_t *factors, std::size_t count) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
        sum += words[i] * factors[i];
    }
    return sum;
}

inline void sum_long_products(const std::uint32_t *words, const std::uint32_t *factors, std::size_t count,
                              std::uint64_t *low, std::uint64_t *high) {
    std::uint64_t lows = 0, highs = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t product = std::uint64_t{words[i]} * factors[i];
        lows += static_cast<std::uint32_t>(product);
        highs += product >> 32;
    }
    *low = lows;
    *high = highs;
}

inline void swap_bytes(std::byte *__restrict to, const std::byte *__restrict from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t word;
        __builtin_memcpy(&word, from + i * WORD_BYTES, WORD_BYTES);
        store_be32(to + i * WORD_BYTES, word);
    }
}

inline void swap_bytes_in_place(std::byte *words, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t word;
        __builtin_memcpy(&word, words + i * WORD_BYTES, WORD_BYTES);
        store_be32(words + i * WORD_BYTES, word);
    }
}

template <typename Combiner, template <typename, LaneOp> typename Widen, LaneOp OP>
constexpr Kernels::Widen widen_kernel() {
    if constexpr (LANE_SHAPES[static_cast<std::uint32_t>(OP)].widens()) {
        return Widen<Combiner, OP>::run;
    } else {
        return nullptr;
    }
}

template <template <typename, LaneOp> typename Widen, std::uint32_t... OPS>
constexpr Kernels kernels_of(std::integer_sequence<std::uint32_t, OPS...>) {
    return {
        .contribute = {contribute<Add>, contribute<Or>, contribute<Max>},
        .merge = {merge<Add>, merge<Or>, merge<Max>},
        .widen = {widen_kernel<Put, Widen, static_cast<LaneOp>(OPS)>()...},
        .widen_add = {widen_kernel<Add, Widen, static_cast<LaneOp>(OPS)>()...},
        .sum_products = sum_products,
        .sum_long_products = sum_long_products,
        .swap_bytes = swap_bytes,
        .swap_bytes_in_place = swap_bytes_in_place,
    };
}

/// Return the kernels of a level; ``Widen`` has its loops that widen.
template <template <typename, LaneOp> typename Widen>
constexpr Kernels kernels() {
    static_assert(COMBINES == 3, "kernels_of lists three combiners");
    return kernels_of<Widen>(std::make_integer_sequence<std::uint32_t, LANE_OPS>());
}
