// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Loops that widen codes to rows of eight accumulator words (32 bytes) with AVX2; included after loops.inl. Broadcasting
// loads cost no shuffle, so one shuffle handles byte order and the position of uplink words, and a lookup takes one more.

constexpr std::size_t ROW = sizeof(__m256i) / WORD_BYTES;

/// Constants of the accumulator words of a row.
struct RowPlan {
    std::uint8_t bytes[sizeof(__m256i)];  // index of the source byte in its half of the vector
    std::uint32_t shifts[ROW];
};

template <LaneOp OP>
constexpr RowPlan row_plan() {
    constexpr LaneShape SHAPE = LANE_SHAPES[static_cast<std::uint32_t>(OP)];
    RowPlan plan{};
    for (std::uint32_t word = 0; word < ROW; ++word) {
        // Bits of a plane stay in their byte, so planes are shuffled last; their words are in place already.
        const std::uint32_t from =
            SHAPE.uplink_words_per_group > 1 ? word % 4 : word / SHAPE.accumulator_words_per_group;
        for (std::uint32_t byte = 0; byte < WORD_BYTES; ++byte) {
            plan.bytes[word * WORD_BYTES + byte] = static_cast<std::uint8_t>(from * WORD_BYTES + 3 - byte);
        }
        plan.shifts[word] = word % SHAPE.accumulator_words_per_group * SHAPE.shift;
    }
    return plan;
}

/// Return a vector that repeats ``WORDS`` words.
template <std::size_t WORDS>
__m256i repeated(const std::byte *payload) {
    static_assert(WORDS == 1 || WORDS == 2 || WORDS == 4);
    if constexpr (WORDS == 4) {
        return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i *>(payload)));
    } else if constexpr (WORDS == 2) {
        long long words;
        __builtin_memcpy(&words, payload, sizeof words);
        return _mm256_set1_epi64x(words);
    } else {
        int word;
        __builtin_memcpy(&word, payload, sizeof word);
        return _mm256_set1_epi32(word);
    }
}

template <typename Combiner, LaneOp OP>
void widen_rows(std::uint32_t *__restrict accumulator, const std::byte *__restrict sent, std::size_t groups,
                const std::uint8_t *code_table) {
    constexpr LaneShape SHAPE = LANE_SHAPES[static_cast<std::uint32_t>(OP)];
    constexpr std::size_t PLANES = SHAPE.uplink_words_per_group;
    constexpr std::size_t GROUPS = ROW / SHAPE.accumulator_words_per_group;
    static_assert(GROUPS * SHAPE.accumulator_words_per_group == ROW && (PLANES == 1 || GROUPS == 1),
                  "a row has whole groups: use widen_groups for this operation in avx2.cpp and avx512.cpp");
    static constexpr RowPlan PLAN = row_plan<OP>();
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(PLAN.bytes));
    const __m256i shifts = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(PLAN.shifts));
    const __m256i mask = _mm256_set1_epi32(static_cast<int>(SHAPE.mask));
    __m256i table = _mm256_setzero_si256();
    if constexpr (SHAPE.lookup) {
        table = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i *>(code_table)));
    }
    const auto widen_row = [&](std::size_t number) {
        const std::byte *const payload = sent + number * (GROUPS * PLANES * WORD_BYTES);
        __m256i row;
        if constexpr (PLANES > 1) {
            row = _mm256_setzero_si256();
            for (std::size_t plane = 0; plane < PLANES; ++plane) {
                const __m256i words = repeated<1>(payload + plane * WORD_BYTES);
                const __m256i bits = _mm256_and_si256(_mm256_srlv_epi32(words, shifts), mask);
                row = _mm256_or_si256(row, _mm256_slli_epi32(bits, static_cast<int>(plane)));
            }
            row = _mm256_shuffle_epi8(row, bytes);
        } else {
            row = _mm256_shuffle_epi8(repeated<GROUPS>(payload), bytes);
            row = _mm256_and_si256(_mm256_srlv_epi32(row, shifts), mask);
        }
        if constexpr (SHAPE.lookup) {
            row = _mm256_shuffle_epi8(table, row);
        }
        __m256i *const sums = reinterpret_cast<__m256i *>(accumulator + number * ROW);
        if constexpr (__is_same(Combiner, Add)) {
            row = _mm256_add_epi32(_mm256_loadu_si256(sums), row);
        }
        _mm256_storeu_si256(sums, row);
    };
    const std::size_t rows = groups / GROUPS;
    std::size_t row = 0;
    // Four rows in each pass: the loop overhead is as large as the work on one row.
    for (; row + 4 <= rows; row += 4) {
        widen_row(row);
        widen_row(row + 1);
        widen_row(row + 2);
        widen_row(row + 3);
    }
    for (; row < rows; ++row) {
        widen_row(row);
    }
    widen_groups<Combiner, OP>(accumulator + rows * ROW, sent + rows * (GROUPS * PLANES * WORD_BYTES),
                               groups - rows * GROUPS, code_table);
}
