// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Philox4x32-7, as in lanesum/codecs/kernels/philox.py. Each block has 64-bit elements, so the product of a round is
// in place. Unused upper halves contain arbitrary bits.

constexpr std::size_t PHILOX_ROUNDS = 7;
constexpr std::size_t BLOCKS = LANES / 2;
/// Words that Philox::words computes at once.
constexpr std::size_t RANDOM_STEP = 2 * LANES;

LANESUM_INLINE Longs low_product(Longs a, Longs b) {
#if LANESUM_VECTOR_BYTES == 64
    return (Longs)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif LANESUM_VECTOR_BYTES == 32
    return (Longs)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (Longs)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
    return (a & 0xFFFFFFFFu) * (b & 0xFFFFFFFFu);
#endif
}

class Philox {
public:
    explicit Philox(const RandomKey &key)
        : chunk_(Longs{} + key.chunk), round_(Longs{} + key.round), stream_(Longs{} + key.stream_and_worker) {
        std::uint32_t first = key.seed[0];
        std::uint32_t second = key.seed[1];
        for (std::size_t i = 0; i < PHILOX_ROUNDS; ++i) {
            keys_[i][0] = Longs{} + first;
            keys_[i][1] = Longs{} + second;
            first += 0x9E3779B9u;
            second += 0xBB67AE85u;
        }
    }

    /// Computes RANDOM_STEP words of the stream from word 4 * ``block``.
    LANESUM_INLINE void words(std::uint64_t block, Words (&out)[2]) const { words(block, out, LongIndices{}); }

    /// Computes words 0 and 1 of BLOCKS blocks from ``block``, one block after the other, and their words 2 and 3.
    LANESUM_INLINE void pairs(std::uint64_t block, Words &front, Words &back) const {
        pairs(block, front, back, LongIndices{});
    }

private:
    using LongIndices = std::make_index_sequence<BLOCKS>;

    template <std::size_t... I>
    LANESUM_INLINE void pairs(std::uint64_t block, Words &front, Words &back, std::index_sequence<I...>) const {
        constexpr Longs places = {I...};
        encrypt(Longs{} + block + places, front, back);
    }

    template <std::size_t... I>
    LANESUM_INLINE void words(std::uint64_t block, Words (&out)[2], std::index_sequence<I...>) const {
        // Interleaving works in quarters: even positions hold the first half of the blocks, odd ones the second.
        constexpr Longs places = {(I / 2 + I % 2 * BLOCKS / 2)...};
        Words front_words;
        Words back_words;
        encrypt(Longs{} + block + places, front_words, back_words);
        const Longs front = (Longs)front_words;
        const Longs back = (Longs)back_words;
        out[0] = (Words)__builtin_shufflevector(front, back, (I / 2 * 2 + I % 2 * BLOCKS)...);
        out[1] = (Words)__builtin_shufflevector(front, back, (I / 2 * 2 + 1 + I % 2 * BLOCKS)...);
    }

    LANESUM_INLINE void encrypt(Longs c0, Words &front, Words &back) const {
        const Longs multipliers[2] = {Longs{} + 0xD2511F53u, Longs{} + 0xCD9E8D57u};
        Longs c1 = chunk_;
        Longs c2 = round_;
        Longs c3 = stream_;
#pragma GCC unroll 7
        for (std::size_t i = 0; i < PHILOX_ROUNDS; ++i) {
            const Longs product0 = low_product(c0, multipliers[0]);
            const Longs product1 = low_product(c2, multipliers[1]);
            c0 = (product1 >> 32) ^ c1 ^ keys_[i][0];
            c2 = (product0 >> 32) ^ c3 ^ keys_[i][1];
            c1 = product1;
            c3 = product0;
        }
        front = (Words)((c0 & 0xFFFFFFFFu) | (c1 << 32));
        back = (Words)((c2 & 0xFFFFFFFFu) | (c3 << 32));
    }

    Longs keys_[PHILOX_ROUNDS][2];
    Longs chunk_;
    Longs round_;
    Longs stream_;
};

void random_words(const RandomKey &key, std::uint32_t *out, std::size_t count) {
    const Philox philox(key);
    for (std::size_t i = 0; i < count; i += RANDOM_STEP) {
        Words words[2];
        philox.words(i / 4, words);
        __builtin_memcpy(out + i, words, least(RANDOM_STEP, count - i) * sizeof(std::uint32_t));
    }
}
