// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Like avx2.cpp, with vectors of 64 bytes where they are faster.
#if defined(__x86_64__)
#include <immintrin.h>

#include <utility>

#include "lanes/kernels.hpp"
#include "protocol/header.hpp"
#include "protocol/spec.hpp"

#include "lanes/target_avx512.inl"

namespace lanesum {
namespace {

#include "lanes/loops.inl"

#include "lanes/rows.inl"

/// EXPAND8. All words are in the vectors already, so interleaving them is faster than loading them again.
template <typename Combiner>
void interleave(std::uint32_t *__restrict accumulator, const std::byte *__restrict payload, std::size_t count,
                const std::uint8_t *code_table) {
    constexpr std::size_t STEP = sizeof(__m512i) / WORD_BYTES;
    const __m512i nibble = _mm512_set1_epi8(0x0F);
    const __m512i byte_order =
        _mm512_broadcast_i32x4(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
    // Unpacking works on quarters of the vector: each quarter needs an eighth of the words first.
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    std::size_t i = 0;
    for (; i + STEP <= count; i += STEP) {
        __m512i words = _mm512_shuffle_epi8(_mm512_loadu_si512(payload + i * WORD_BYTES), byte_order);
        words = _mm512_permutexvar_epi64(order, words);
        __m512i low = _mm512_and_si512(words, nibble);
        __m512i high = _mm512_and_si512(_mm512_srli_epi32(words, 4), nibble);
        __m512i first = _mm512_unpacklo_epi32(low, high);
        __m512i second = _mm512_unpackhi_epi32(low, high);
        std::uint32_t *const sums = accumulator + 2 * i;
        if constexpr (__is_same(Combiner, Add)) {
            first = _mm512_add_epi32(_mm512_loadu_si512(sums), first);
            second = _mm512_add_epi32(_mm512_loadu_si512(sums + STEP), second);
        }
        _mm512_storeu_si512(sums, first);
        _mm512_storeu_si512(sums + STEP, second);
    }
    widen_groups<Combiner, LaneOp::EXPAND8>(accumulator + 2 * i, payload + i * WORD_BYTES, count - i, code_table);
}

template <typename Combiner, LaneOp OP>
struct Widen {
    static constexpr Kernels::Widen run = OP == LaneOp::EXPAND8 ? interleave<Combiner> : widen_rows<Combiner, OP>;
};

}  // namespace

constexpr Kernels AVX512_KERNELS = kernels<Widen>();

}  // namespace lanesum

#include "lanes/target_end.inl"
#endif
