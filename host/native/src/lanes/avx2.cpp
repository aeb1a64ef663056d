// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// 32 bytes at a time. Compilers do not find the byte shuffle that looks up 32 codes at once, and interleave the words
// of wide lanes at two thirds of the speed.
#if defined(__x86_64__)
#include <immintrin.h>

#include "lanes/kernels.hpp"
#include "protocol/header.hpp"
#include "protocol/spec.hpp"

#include "lanes/target_avx2.inl"

namespace lanesum {
namespace {

#include "lanes/loops.inl"

template <typename Combine, bool LOOK_UP>
void widen(std::uint32_t *__restrict accumulator, const std::byte *__restrict payload, std::size_t count,
           const std::uint8_t *code_table) {
    constexpr std::size_t STEP = sizeof(__m256i) / WORD_BYTES;
    const __m256i nibble = _mm256_set1_epi8(0x0F);
    const __m256i byte_order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
    __m256i table = _mm256_setzero_si256();
    if constexpr (LOOK_UP) {
        table = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i *>(code_table)));
    }
    std::size_t i = 0;
    for (; i + STEP <= count; i += STEP) {
        __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(payload + i * WORD_BYTES));
        words = _mm256_shuffle_epi8(words, byte_order);
        // The unpacking below works in halves: each needs a quarter of the words that come first.
        words = _mm256_permute4x64_epi64(words, _MM_SHUFFLE(3, 1, 2, 0));
        __m256i low = _mm256_and_si256(words, nibble);
        __m256i high = _mm256_and_si256(_mm256_srli_epi32(words, 4), nibble);
        if constexpr (LOOK_UP) {
            low = _mm256_shuffle_epi8(table, low);
            high = _mm256_shuffle_epi8(table, high);
        }
        __m256i first = _mm256_unpacklo_epi32(low, high);
        __m256i second = _mm256_unpackhi_epi32(low, high);
        __m256i *const sums = reinterpret_cast<__m256i *>(accumulator + 2 * i);
        if constexpr (__is_same(Combine, Add)) {
            first = _mm256_add_epi32(_mm256_loadu_si256(sums), first);
            second = _mm256_add_epi32(_mm256_loadu_si256(sums + 1), second);
        }
        _mm256_storeu_si256(sums, first);
        _mm256_storeu_si256(sums + 1, second);
    }
    widen_by_word<Combine, LOOK_UP>(accumulator + 2 * i, payload + i * WORD_BYTES, count - i, code_table);
}

template <typename Combine, bool LOOK_UP>
struct Widen {
    static constexpr Kernels::Widen run = widen<Combine, LOOK_UP>;
};

template <typename Combine, LaneOp OP>
struct Groups {
    static constexpr Kernels::Groups run = widen_groups<Combine, OP>;
};

}  // namespace

constexpr Kernels AVX2_KERNELS = kernels<Widen, Groups>();

}  // namespace lanesum

#include "lanes/target_end.inl"
#endif
