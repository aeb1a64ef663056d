// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// ``thc`` block by block, as in lanesum/codecs/thc/reference.py. A block is transformed in its work space. Encoding
// rounds and packs it from there group by group, and decoding writes the estimates there.

constexpr float UNIT = 65536;
constexpr std::size_t CACHE_LINE = 64;

struct BlockPart {
    std::size_t number;
    std::size_t start;   ///< first coordinate, in the vector with and without padding
    std::size_t count;   ///< number of values
    std::size_t length;  ///< number of coordinates with the padding
    std::size_t place;   ///< first value, in the values of the caller
};

/// Returns the position of a block in the values of the caller.
LANESUM_INLINE std::size_t place_of(const Run &run, std::size_t number) {
    return (run.places == nullptr ? number : run.places[number]) * run.block;
}

template <typename Do>
LANESUM_INLINE void for_blocks(const Run &run, const Do what) {
    for (std::size_t start = 0, number = 0; start < run.size; start += run.block, ++number) {
        const std::size_t count = least(run.block, run.size - start);
        std::size_t length = run.block;
        if (count < run.block) {
            length = MIN_BLOCK;
            while (length < count) {
                length *= 2;
            }
        }
        what(BlockPart{number, start, count, length, place_of(run, number)});
    }
}

// Rotation

void rotate_block(const float *values, const float *powers, const Run &run, const BlockPart &part, float *out) {
    const float *from = values + part.place;
    if (part.count < part.length) {
        __builtin_memmove(out, from, part.count * sizeof *out);
        __builtin_memset(out + part.count, 0, (part.length - part.count) * sizeof *out);
        from = out;
    }
    const Vector source{from, powers + 2 * part.number, run.signs};
    transform(source, Memory{out}, out, part.length, part.length);
}

// Codes

struct Positions {
    float factor;
    float middle;
    float end;

    /// Returns positions in steps of 1/65536 of the grid.
    LANESUM_INLINE Words of(const float *rotated) const {
        const Floats position = load<Floats>(rotated) * factor + middle;
        return (Words) __builtin_convertvector(lesser(greater(position, Floats{}), Floats{} + end), Ints);
    }
};

/// Moves the coordinates of a group to the second-level cache, for reading or for writing.
template <bool WRITE>
LANESUM_INLINE void fetch_group(const float *group) {
#pragma GCC unroll 4
    for (std::size_t at = 0; at < DITHER_GROUP; at += CACHE_LINE / sizeof *group) {
        __builtin_prefetch(group + at, WRITE, 2);
    }
}

/// ``ahead``: coordinates that are used next, as many as in this block.
template <Packing PACKING, bool TABLE>
std::size_t quantize_block(const float *rotated, std::size_t length, const Positions &positions,
                           const DitherSource &dithers, const Rounding &rounding, const float *ahead,
                           std::uint32_t *words) {
    alignas(64) std::uint8_t codes[DITHER_GROUP];
    const std::uint32_t flip = rounding.flip * 0x00010001u;
    std::size_t written = 0;
    for (std::size_t at = 0; at < length; at += DITHER_GROUP) {
        fetch_group<false>(ahead + at);
        for (std::size_t step = 0; step < GROUP_STEPS; ++step) {
            const Dithers shared = dithers.step(at / DITHER_GROUP, step);
            const Words front = shifted(shared.front, rounding.offset);
            const Words back = shifted(shared.back, rounding.offset);
            const float *const from = rotated + at + step * LANES;
            const Words first = positions.of(from) + low_halves(front);
            const Words second = positions.of(from + QUARTER) + high_halves(front);
            Words halves = first >> 16 | (second & 0xFFFF0000u);
            const Words third = positions.of(from + 2 * QUARTER) + low_halves(back);
            const Words fourth = positions.of(from + 3 * QUARTER) + high_halves(back);
            Words others = third >> 16 | (fourth & 0xFFFF0000u);
            if constexpr (TABLE) {
                // The lowest bit of the shared dither decides, with opposite results for neighbouring workers.
                halves |= ((shared.front & 0x00010001u) ^ flip) << 7;
                others |= ((shared.back & 0x00010001u) ^ flip) << 7;
            }
            store(codes + step * LANES * 4, halves | others << 8);
        }
        if constexpr (TABLE) {
            look_up_cells(codes, rounding.cells);
        }
        in_order(codes);
        written += pack_group<PACKING>(codes, least(DITHER_GROUP, length - at), words + written);
    }
    return written;
}

std::size_t words_of(Packing packing, std::size_t length) {
    switch (packing) {
        case Packing::PLANES_3:
            return length / 32 * 3;
        case Packing::PLANES_5:
            return length / 32 * 5;
        case Packing::BYTES_TO_8:
        case Packing::BYTES_TO_16:
            return length / 4;
        default:
            return length / 8;
    }
}

/// Encodes one rotated block, of at least DITHER_GROUP floats, to words.
std::size_t quantize_one(const float *rotated, float factor, const SharedDithers &shared, const BlockPart &part,
                         const Rounding &rounding, const float *ahead, std::uint32_t *words) {
    if (factor == 0) {
        const std::size_t size = words_of(rounding.packing, part.length);
        __builtin_memset(words, 0, size * sizeof *words);
        return size;
    }
    const Positions positions{factor, rounding.granularity * UNIT / 2, rounding.granularity * UNIT};
    const DitherSource dithers(shared, part.number);
    switch (rounding.packing) {
        case Packing::PLANES_3:
            return quantize_block<Packing::PLANES_3, false>(rotated, part.length, positions, dithers, rounding, ahead,
                                                            words);
        case Packing::PLANES_5:
            return quantize_block<Packing::PLANES_5, false>(rotated, part.length, positions, dithers, rounding, ahead,
                                                            words);
        case Packing::BYTES_TO_8:
            return quantize_block<Packing::BYTES_TO_8, false>(rotated, part.length, positions, dithers, rounding, ahead,
                                                              words);
        case Packing::BYTES_TO_16:
            return quantize_block<Packing::BYTES_TO_16, false>(rotated, part.length, positions, dithers, rounding,
                                                               ahead, words);
        case Packing::NIBBLES_TO_16:
            return quantize_block<Packing::NIBBLES_TO_16, false>(rotated, part.length, positions, dithers, rounding,
                                                                 ahead, words);
        default:
            break;
    }
    if (rounding.cells == nullptr) {
        return quantize_block<Packing::NIBBLES_TO_8, false>(rotated, part.length, positions, dithers, rounding, ahead,
                                                            words);
    }
    return quantize_block<Packing::NIBBLES_TO_8, true>(rotated, part.length, positions, dithers, rounding, ahead,
                                                       words);
}

void encode_blocks(const float *values, const float *powers, const float *factors, const Run &run,
                   const SharedDithers &shared, const Rounding &rounding, std::uint32_t *words) {
    // A group is longer than the shortest block.
    __builtin_memset(run.work, 0, DITHER_GROUP * sizeof *run.work);
    for_blocks(run, [&](const BlockPart &part) {
        rotate_block(values, powers, run, part, run.work);
        // The next block is read while this one is rounded.
        const std::size_t next = part.start + part.length;
        const float *const ahead = next + run.block <= run.size ? values + place_of(run, part.number + 1) : run.work;
        words += quantize_one(run.work, factors[part.number], shared, part, rounding, ahead, words);
    });
}

// Sums

/// Sums in lanes of 8 bits, times 65536.
struct NarrowSums {
    const std::uint32_t *words;

    LANESUM_INLINE Words get(std::size_t at) const { return get(at, LaneIndices{}); }

    template <std::size_t... I>
    LANESUM_INLINE Words get(std::size_t at, std::index_sequence<I...>) const {
#if LANESUM_VECTOR_BYTES == 64
        const __m512i there =
            _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i *>(words + at / 4)));
        // Each sum moves to the third byte of its element; all other bytes are zero.
        const __m512i places = _mm512_setr_epi32(0x8003FFFF, 0x8002FFFF, 0x8001FFFF, 0x8000FFFF, 0x8007FFFF, 0x8006FFFF,
                                                 0x8005FFFF, 0x8004FFFF, 0x800BFFFF, 0x800AFFFF, 0x8009FFFF, 0x8008FFFF,
                                                 0x800FFFFF, 0x800EFFFF, 0x800DFFFF, 0x800CFFFF);
        return (Words)_mm512_shuffle_epi8(there, places);
#elif LANESUM_VECTOR_BYTES == 32
        const __m256i there = _mm256_set1_epi64x(load<long long>(words + at / 4));
        const __m256i places = _mm256_setr_epi32(0x8003FFFF, 0x8002FFFF, 0x8001FFFF, 0x8000FFFF, 0x8007FFFF, 0x8006FFFF,
                                                 0x8005FFFF, 0x8004FFFF);
        return (Words)_mm256_shuffle_epi8(there, places);
#else
        const std::uint32_t word = words[at / 4];
        constexpr Words shifts = {(24 - I * 8)...};
        return ((Words{} + word) >> shifts & 0xFF) << 16;
#endif
    }
};

/// Sums in lanes of 16 bits, times 65536.
struct WideSums {
    const std::uint32_t *words;

    LANESUM_INLINE Words get(std::size_t at) const { return get(at, LaneIndices{}); }

    template <std::size_t... I>
    LANESUM_INLINE Words get(std::size_t at, std::index_sequence<I...>) const {
        const auto there = load<HalfWords>(words + at / 2);
        const Words twice = __builtin_shufflevector(there, there, (I / 2)...);
        constexpr Words shifts = {(I % 2 * 16)...};
        return twice << shifts & 0xFFFF0000u;
    }
};

/// Levels of one worker in bytes, times 65536.
struct ByteSums {
    const std::uint8_t *levels;

    LANESUM_INLINE Words get(std::size_t at) const {
        return __builtin_convertvector(load<Bytes>(levels + at), Words) << 16;
    }
};

/// Estimates one group from the sums of ``source`` at ``base``; ``count``: number of remaining coordinates.
template <bool ALL, typename Source>
LANESUM_INLINE void estimate_group(const Source &source, std::size_t base, std::size_t count, std::size_t group,
                                   const DitherSource &dithers, const DitherSum &sum, float *out) {
    for (std::size_t step = 0; step < GROUP_STEPS; ++step) {
        const Taken less = taken<ALL>(dithers.step(group, step), sum);
#pragma GCC unroll 4
        for (std::size_t quarter = 0; quarter < 4; ++quarter) {
            const std::size_t at = quarter * QUARTER + step * LANES;
            if (at < count) {
                const Words estimate = source.get(base + at) - less.quarters[quarter] - sum.constant;
                store(out + at, __builtin_convertvector((Ints)estimate, Floats));
            }
        }
    }
}

/// ``result``: where the values of the block are written next.
template <bool ALL, typename Source>
void estimate_all(const Source &source, std::size_t length, const DitherSource &dithers, const DitherSum &sum,
                  const float *result, float *out) {
    for (std::size_t at = 0; at < length; at += DITHER_GROUP) {
        fetch_group<true>(result + at);
        estimate_group<ALL>(source, at, length - at, at / DITHER_GROUP, dithers, sum, out + at);
    }
}

/// Estimates one rotated block from its sums.
void estimate_block(const std::uint32_t *lanes, unsigned lane_bits, const BlockPart &part, const SharedDithers &shared,
                    const DitherSum &sum, const float *result, float *out) {
    const DitherSource dithers(shared, part.number);
    const std::uint32_t *const words = lanes + part.start * lane_bits / 32;
    if (lane_bits == 8 && sum.num_offsets == 0) {
        estimate_all<true>(NarrowSums{words}, part.length, dithers, sum, result, out);
    } else if (lane_bits == 8) {
        estimate_all<false>(NarrowSums{words}, part.length, dithers, sum, result, out);
    } else if (sum.num_offsets == 0) {
        estimate_all<true>(WideSums{words}, part.length, dithers, sum, result, out);
    } else {
        estimate_all<false>(WideSums{words}, part.length, dithers, sum, result, out);
    }
}

void estimate_blocks(const std::uint32_t *lanes, unsigned lane_bits, const Run &run, const SharedDithers &shared,
                     const DitherSum &sum, float *out) {
    for_blocks(run, [&](const BlockPart &part) {
        estimate_block(lanes, lane_bits, part, shared, sum, out + part.start, out + part.start);
    });
}

struct Restored {
    float *out;
    const float *factors;
    const std::uint32_t *signs;

    LANESUM_INLINE Floats value(std::size_t at, Floats x) const {
        x = negated_where(x, signs, at, LaneIndices{});
        return limited(x * factors[0] * factors[1], FLOAT_MAX);
    }
    LANESUM_INLINE void put(std::size_t at, Floats x) const { store(out + at, value(at, x)); }
};

struct Difference {
    Restored decoded;
    const float *values;

    LANESUM_INLINE void put(std::size_t at, Floats x) const {
        store(decoded.out + at, limited(load<Floats>(values + at) - decoded.value(at, x), FLOAT_MAX));
    }
};

/// Transforms the work space back to values.
void restore_block(const float *factors, const Run &run, const BlockPart &part, float *out) {
    if (factors[2 * part.number] == 0) {
        __builtin_memset(out + part.place, 0, part.count * sizeof *out);
        return;
    }
    const bool whole = part.count == part.length;
    const Restored sink{whole ? out + part.place : run.work, factors + 2 * part.number, run.signs};
    transform(Memory{run.work}, sink, run.work, part.length, part.length);
    if (!whole) {
        __builtin_memcpy(out + part.place, run.work, part.count * sizeof *out);
    }
}

void restore_blocks(const float *rotated, const float *factors, const Run &run, float *out) {
    for_blocks(run, [&](const BlockPart &part) {
        __builtin_memcpy(run.work, rotated + part.start, part.length * sizeof *out);
        restore_block(factors, run, part, out);
    });
}

void decode_blocks(const std::uint32_t *lanes, unsigned lane_bits, const float *factors, const Run &run,
                   const SharedDithers &shared, const DitherSum &sum, float *out) {
    for_blocks(run, [&](const BlockPart &part) {
        const float *const result = part.count == run.block ? out + part.place : run.work;
        estimate_block(lanes, lane_bits, part, shared, sum, result, run.work);
        restore_block(factors, run, part, out);
    });
}

// Residuals

template <Packing PACKING>
std::size_t own_block(const std::uint32_t *words, std::size_t length, const std::uint8_t *levels,
                      const DitherSource &dithers, const DitherSum &sum, float *out) {
    alignas(64) std::uint8_t codes[DITHER_GROUP];
    std::size_t read = 0;
    for (std::size_t at = 0; at < length; at += DITHER_GROUP) {
        const std::size_t count = least(DITHER_GROUP, length - at);
        read += unpack_group<PACKING>(words + read, count, codes);
        if (levels != nullptr) {
            look_up_levels(codes, levels);
        }
        estimate_group<false>(ByteSums{codes}, 0, count, at / DITHER_GROUP, dithers, sum, out + at);
    }
    return read;
}

template <Packing PACKING>
void residual_all(const float *values, const std::uint32_t *words, const std::uint8_t *levels, const float *factors,
                  const Run &run, const SharedDithers &shared, const DitherSum &sum, float *out) {
    for_blocks(run, [&](const BlockPart &part) {
        const float *const from = values + part.place;
        float *const to = out + part.place;
        if (factors[2 * part.number] == 0) {
            words += words_of(PACKING, part.length);
            __builtin_memmove(to, from, part.count * sizeof *to);
            return;
        }
        words += own_block<PACKING>(words, part.length, levels, DitherSource(shared, part.number), sum, run.work);
        const Restored decoded{run.work, factors + 2 * part.number, run.signs};
        if (part.count == part.length) {
            const Difference sink{{to, decoded.factors, decoded.signs}, from};
            transform(Memory{run.work}, sink, run.work, part.length, part.length);
            return;
        }
        transform(Memory{run.work}, decoded, run.work, part.length, part.length);
        for (std::size_t i = 0; i < part.count; ++i) {
            to[i] = difference(from[i], run.work[i]);
        }
    });
}

void residual_blocks(const float *values, const std::uint32_t *words, Packing packing, const std::uint8_t *levels,
                     const float *factors, const Run &run, const SharedDithers &shared, const DitherSum &sum,
                     float *out) {
    switch (packing) {
        case Packing::PLANES_3:
            return residual_all<Packing::PLANES_3>(values, words, levels, factors, run, shared, sum, out);
        case Packing::PLANES_5:
            return residual_all<Packing::PLANES_5>(values, words, levels, factors, run, shared, sum, out);
        case Packing::BYTES_TO_8:
            return residual_all<Packing::BYTES_TO_8>(values, words, levels, factors, run, shared, sum, out);
        case Packing::BYTES_TO_16:
            return residual_all<Packing::BYTES_TO_16>(values, words, levels, factors, run, shared, sum, out);
        case Packing::NIBBLES_TO_16:
            return residual_all<Packing::NIBBLES_TO_16>(values, words, levels, factors, run, shared, sum, out);
        default:
            return residual_all<Packing::NIBBLES_TO_8>(values, words, levels, factors, run, shared, sum, out);
    }
}
