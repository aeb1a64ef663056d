// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Codes of a group of 64 coordinates: from the order of dithered rounding to words, and back; as in
// lanesum/codecs/kernels/packing.py.

using Sixteen [[gnu::vector_size(16)]] = std::uint8_t;
using FourWords [[gnu::vector_size(16)]] = std::uint32_t;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "codes and lanes are taken as bytes of their words");

/// Flag in the entry of a cell: the integer is between two levels. The other bits are the code of the level below.
constexpr std::uint8_t LEFT_OUT = 0x80;
/// Flag of an index: go up from an integer that is left out.
constexpr std::uint8_t GO_UP = 0x80;

/// Converts integers of the grid, with GO_UP, to codes. Both have the bytes of the same coordinates in the same order.
LANESUM_INLINE void look_up_cells(std::uint8_t *bytes, const std::uint8_t *cells) {
#if LANESUM_VECTOR_BYTES == 64
    const __m512i both = _mm512_loadu_si512(bytes);
    const __m512i low = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i *>(cells)));
    const __m512i high = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i *>(cells + 16)));
    const __m512i index = _mm512_and_si512(both, _mm512_set1_epi8(0x1F));
    // A shuffle returns 0 for an index with its highest bit set. So each half returns 0 for the integers of the other.
    const __m512i entry = _mm512_or_si512(_mm512_shuffle_epi8(low, _mm512_add_epi8(index, _mm512_set1_epi8(0x70))),
                                          _mm512_shuffle_epi8(high, _mm512_sub_epi8(index, _mm512_set1_epi8(0x10))));
    const __m512i up = _mm512_and_si512(_mm512_srli_epi16(_mm512_and_si512(both, entry), 7), _mm512_set1_epi8(1));
    _mm512_storeu_si512(bytes, _mm512_add_epi8(_mm512_and_si512(entry, _mm512_set1_epi8(0x7F)), up));
#elif LANESUM_VECTOR_BYTES == 32
    const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i *>(cells)));
    const __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i *>(cells + 16)));
    for (std::size_t i = 0; i < DITHER_GROUP; i += 32) {
        const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(bytes + i));
        const __m256i index = _mm256_and_si256(both, _mm256_set1_epi8(0x1F));
        const __m256i entry =
            _mm256_or_si256(_mm256_shuffle_epi8(low, _mm256_add_epi8(index, _mm256_set1_epi8(0x70))),
                            _mm256_shuffle_epi8(high, _mm256_sub_epi8(index, _mm256_set1_epi8(0x10))));
        const __m256i up = _mm256_and_si256(_mm256_srli_epi16(_mm256_and_si256(both, entry), 7), _mm256_set1_epi8(1));
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(bytes + i),
                            _mm256_add_epi8(_mm256_and_si256(entry, _mm256_set1_epi8(0x7F)), up));
    }
#else
    for (std::size_t i = 0; i < DITHER_GROUP; ++i) {
        const std::uint8_t entry = cells[bytes[i] & 0x1F];
        bytes[i] = static_cast<std::uint8_t>((entry & ~LEFT_OUT) + ((entry & bytes[i]) >> 7));
    }
#endif
}

/// Reorders four bytes per position in a quarter, of the first, third, second and fourth quarter, to coordinate order.
LANESUM_INLINE void in_order(std::uint8_t *bytes) {
#if LANESUM_VECTOR_BYTES == 64
    const __m512i quarters =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15));
    const __m512i places = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i together = _mm512_shuffle_epi8(_mm512_loadu_si512(bytes), quarters);
    _mm512_storeu_si512(bytes, _mm512_permutexvar_epi32(places, together));
#elif LANESUM_VECTOR_BYTES == 32
    const __m128i quarters = _mm_setr_epi8(0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15);
    __m128i rows[4];
    for (std::size_t i = 0; i < 4; ++i) {
        rows[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i *>(bytes + 16 * i)), quarters);
    }
    const __m128i low0 = _mm_unpacklo_epi32(rows[0], rows[1]);
    const __m128i low1 = _mm_unpacklo_epi32(rows[2], rows[3]);
    const __m128i high0 = _mm_unpackhi_epi32(rows[0], rows[1]);
    const __m128i high1 = _mm_unpackhi_epi32(rows[2], rows[3]);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(bytes), _mm_unpacklo_epi64(low0, low1));
    _mm_storeu_si128(reinterpret_cast<__m128i *>(bytes + 16), _mm_unpackhi_epi64(low0, low1));
    _mm_storeu_si128(reinterpret_cast<__m128i *>(bytes + 32), _mm_unpacklo_epi64(high0, high1));
    _mm_storeu_si128(reinterpret_cast<__m128i *>(bytes + 48), _mm_unpackhi_epi64(high0, high1));
#else
    std::uint8_t there[DITHER_GROUP];
    __builtin_memcpy(there, bytes, sizeof there);
    constexpr std::size_t quarter_at[4] = {0, 2, 1, 3};
    for (std::size_t i = 0; i < DITHER_GROUP; ++i) {
        bytes[i] = there[i % QUARTER * 4 + quarter_at[i / QUARTER]];
    }
#endif
}

/// Returns the highest bit of every byte.
LANESUM_INLINE std::uint32_t high_bits(Sixteen bytes) {
#if defined(__SSE2__)
    return static_cast<std::uint32_t>(_mm_movemask_epi8((__m128i)bytes));
#else
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 16; ++i) {
        bits |= static_cast<std::uint32_t>(bytes[i] >> 7) << i;
    }
    return bits;
#endif
}

template <std::size_t BITS>
LANESUM_INLINE void pack_planes(const std::uint8_t *codes, std::uint32_t *words) {
    const Sixteen front = load<Sixteen>(codes);
    const Sixteen back = load<Sixteen>(codes + 16);
    // The bit of a lane in a plane is that of its word, in the byte of the lane: the last lane is the lowest byte.
    const Sixteen low =
        __builtin_shufflevector(front, back, 3, 7, 11, 15, 19, 23, 27, 31, 2, 6, 10, 14, 18, 22, 26, 30);
    const Sixteen high = __builtin_shufflevector(front, back, 1, 5, 9, 13, 17, 21, 25, 29, 0, 4, 8, 12, 16, 20, 24, 28);
    for (std::size_t plane = 0; plane < BITS; ++plane) {
        words[plane] = high_bits(low << (7 - plane)) | high_bits(high << (7 - plane)) << 16;
    }
}

LANESUM_INLINE std::uint32_t every_fourth(std::uint64_t nibbles) {
    nibbles &= 0x000F000F000F000Fu;
    return static_cast<std::uint32_t>((nibbles | nibbles >> 12 | nibbles >> 24 | nibbles >> 36) & 0xFFFF);
}

/// Packs ``count`` codes, 32 or 64, in coordinate order. Returns the number of their words.
template <Packing PACKING>
LANESUM_INLINE std::size_t pack_group(const std::uint8_t *codes, std::size_t count, std::uint32_t *words) {
    if constexpr (PACKING == Packing::PLANES_3 || PACKING == Packing::PLANES_5) {
        constexpr std::size_t bits = PACKING == Packing::PLANES_3 ? 3 : 5;
        for (std::size_t i = 0; i < count; i += 32) {
            pack_planes<bits>(codes + i, words + i / 32 * bits);
        }
        return count / 32 * bits;
    } else if constexpr (PACKING == Packing::BYTES_TO_16) {
        for (std::size_t i = 0; i < count; i += 16) {
            const Sixteen there = load<Sixteen>(codes + i);
            const Sixteen words_of =
                __builtin_shufflevector(there, there, 1, 3, 0, 2, 5, 7, 4, 6, 9, 11, 8, 10, 13, 15, 12, 14);
            store(words + i / 4, words_of);
        }
        return count / 4;
    } else if constexpr (PACKING == Packing::BYTES_TO_8) {
        for (std::size_t i = 0; i < count; i += 4) {
            words[i / 4] = __builtin_bswap32(load<std::uint32_t>(codes + i));
        }
        return count / 4;
    } else if constexpr (PACKING == Packing::NIBBLES_TO_16) {
        for (std::size_t i = 0; i < count; i += 8) {
            const auto eight = load<std::uint64_t>(codes + i);
            words[i / 8] = every_fourth(eight) << 16 | every_fourth(eight >> 8);
        }
        return count / 8;
    } else {
#if LANESUM_VECTOR_BYTES == 64
        if (count == DITHER_GROUP) {
            const __m512i eights = _mm512_loadu_si512(codes);
            const __m512i pairs = _mm512_or_si512(eights, _mm512_srli_epi64(eights, 28));
            const __m512i turned =
                _mm512_shuffle_epi8(pairs, _mm512_broadcast_i32x4(_mm_setr_epi8(3, 2, 1, 0, -1, -1, -1, -1, 11, 10, 9,
                                                                                8, -1, -1, -1, -1)));
            _mm256_storeu_si256(reinterpret_cast<__m256i *>(words), _mm512_cvtepi64_epi32(turned));
            return DITHER_GROUP / 8;
        }
#endif
        pack(codes, count, words);
        return count / 8;
    }
}

/// Unpacks ``count`` codes, 32 or 64, to coordinate order. Returns the number of their words.
template <Packing PACKING>
LANESUM_INLINE std::size_t unpack_group(const std::uint32_t *words, std::size_t count, std::uint8_t *codes) {
    if constexpr (PACKING == Packing::PLANES_3 || PACKING == Packing::PLANES_5) {
        constexpr std::size_t bits = PACKING == Packing::PLANES_3 ? 3 : 5;
        for (std::size_t i = 0; i < count; i += 4) {
            const std::uint32_t *const group = words + i / 32 * bits;
            std::uint32_t lanes = 0;
            for (std::size_t plane = 0; plane < bits; ++plane) {
                lanes |= (group[plane] >> i / 4 % 8 & 0x01010101u) << plane;
            }
            store(codes + i, __builtin_bswap32(lanes));
        }
        return count / 32 * bits;
    } else if constexpr (PACKING == Packing::BYTES_TO_16) {
        for (std::size_t i = 0; i < count; i += 4) {
            const std::uint32_t word = words[i / 4];
            const std::uint32_t lanes =
                (word >> 16 & 0xFF) | (word & 0xFF) << 8 | word >> 24 << 16 | (word >> 8 & 0xFF) << 24;
            store(codes + i, lanes);
        }
        return count / 4;
    } else if constexpr (PACKING == Packing::BYTES_TO_8) {
        for (std::size_t i = 0; i < count; i += 4) {
            store(codes + i, __builtin_bswap32(words[i / 4]));
        }
        return count / 4;
    } else if constexpr (PACKING == Packing::NIBBLES_TO_16) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t place = i % 8 / 2 + (i % 2 == 0 ? 4 : 0);
            codes[i] = static_cast<std::uint8_t>(words[i / 8] >> 4 * place & 0xF);
        }
        return count / 8;
    } else {
        for (std::size_t i = 0; i < count; i += 8) {
            const std::uint32_t word = words[i / 8];
            store(codes + i, __builtin_bswap32(word & 0x0F0F0F0Fu));
            store(codes + i + 4, __builtin_bswap32(word >> 4 & 0x0F0F0F0Fu));
        }
        return count / 8;
    }
}

/// Converts codes to levels, in place.
LANESUM_INLINE void look_up_levels(std::uint8_t *codes, const std::uint8_t *levels) {
#if LANESUM_VECTOR_BYTES >= 32
    const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i *>(levels));
    for (std::size_t i = 0; i < DITHER_GROUP; i += 16) {
        const __m128i there = _mm_loadu_si128(reinterpret_cast<const __m128i *>(codes + i));
        _mm_storeu_si128(reinterpret_cast<__m128i *>(codes + i), _mm_shuffle_epi8(table, there));
    }
#else
    for (std::size_t i = 0; i < DITHER_GROUP; ++i) {
        codes[i] = levels[codes[i] & 0xF];
    }
#endif
}
