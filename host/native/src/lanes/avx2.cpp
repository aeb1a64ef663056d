// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Vectors of 32 bytes. Compilers do not find the byte shuffles that widen codes and look up 32 of them at once.
#if defined(__x86_64__)
#include <immintrin.h>

#include <utility>

#include "lanes/kernels.hpp"
#include "protocol/header.hpp"
#include "protocol/spec.hpp"

#include "lanes/target_avx2.inl"

namespace lanesum {
namespace {

#include "lanes/loops.inl"

#include "lanes/rows.inl"

/// EXPAND8. All words are in the vectors already, so interleaving them is faster than loading them again.
template <typename Combiner>
void interleave(std::uint32_t *__restrict accumulator, const std::byte *__restrict payload, std::size_t count,
                const std::uint8_t *code_table) {
    constexpr std::size_t STEP = sizeof(__m256i) / WORD_BYTES;
    const __m256i nibble = _mm256_set1_epi8(0x0F);
    const __m256i byte_order =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
    std::size_t i = 0;
    for (; i + STEP <= count; i += STEP) {
        __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(payload + i * WORD_BYTES));
        words = _mm256_shuffle_epi8(words, byte_order);
        // Unpacking works on halves of the vector: each half needs a quarter of the words first.
        words = _mm256_permute4x64_epi64(words, _MM_SHUFFLE(3, 1, 2, 0));
        __m256i low = _mm256_and_si256(words, nibble);
        __m256i high = _mm256_and_si256(_mm256_srli_epi32(words, 4), nibble);
        __m256i first = _mm256_unpacklo_epi32(low, high);
        __m256i second = _mm256_unpackhi_epi32(low, high);
        __m256i *const sums = reinterpret_cast<__m256i *>(accumulator + 2 * i);
        if constexpr (__is_same(Combiner, Add)) {
            first = _mm256_add_epi32(_mm256_loadu_si256(sums), first);
            second = _mm256_add_epi32(_mm256_loadu_si256(sums + 1), second);
        }
        _mm256_storeu_si256(sums, first);
        _mm256_storeu_si256(sums + 1, second);
    }
    widen_groups<Combiner, LaneOp::EXPAND8>(accumulator + 2 * i, payload + i * WORD_BYTES, count - i, code_table);
}

template <typename Combiner, LaneOp OP>
struct Widen {
    static constexpr Kernels::Widen run = OP == LaneOp::EXPAND8 ? interleave<Combiner> : widen_rows<Combiner, OP>;
};

}  // namespace

constexpr Kernels AVX2_KERNELS = kernels<Widen>();

}  // namespace lanesum

#include "lanes/target_end.inl"
#endif
