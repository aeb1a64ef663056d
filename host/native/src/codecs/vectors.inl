// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Vectors of the width of a level, by the vector extensions of gcc and clang: IEEE operations on each element.

constexpr std::size_t LANES = LANESUM_VECTOR_BYTES / sizeof(float);
using LaneIndices = std::make_index_sequence<LANES>;

using Floats [[gnu::vector_size(LANES * sizeof(float))]] = float;
using Ints [[gnu::vector_size(LANES * sizeof(std::int32_t))]] = std::int32_t;
using Words [[gnu::vector_size(LANES * sizeof(std::uint32_t))]] = std::uint32_t;
using Longs [[gnu::vector_size(LANES * sizeof(std::uint32_t))]] = std::uint64_t;
using Doubles [[gnu::vector_size(LANES * sizeof(float))]] = double;
using HalfWords [[gnu::vector_size(LANES * sizeof(std::uint32_t) / 2)]] = std::uint32_t;
using HalfFloats [[gnu::vector_size(LANES * sizeof(float) / 2)]] = float;
using Bytes [[gnu::vector_size(LANES)]] = std::uint8_t;

#define LANESUM_INLINE inline __attribute__((always_inline))

constexpr std::size_t least(std::size_t a, std::size_t b) { return a < b ? a : b; }

template <typename Vector, typename Element>
LANESUM_INLINE Vector load(const Element *from) {
    Vector vector;
    __builtin_memcpy(&vector, from, sizeof vector);
    return vector;
}

template <typename Vector, typename Element>
LANESUM_INLINE void store(Element *to, const Vector &vector) {
    __builtin_memcpy(to, &vector, sizeof vector);
}

// Compilers translate the general form to a comparison and a selection, because of its result for NaN.
LANESUM_INLINE Floats lesser(Floats a, Floats b) {
#if LANESUM_VECTOR_BYTES == 64
    return _mm512_min_ps(a, b);
#elif LANESUM_VECTOR_BYTES == 32
    return _mm256_min_ps(a, b);
#else
    return a < b ? a : b;
#endif
}

LANESUM_INLINE Floats greater(Floats a, Floats b) {
#if LANESUM_VECTOR_BYTES == 64
    return _mm512_max_ps(a, b);
#elif LANESUM_VECTOR_BYTES == 32
    return _mm256_max_ps(a, b);
#else
    return a > b ? a : b;
#endif
}

/// Returns a + x * side, where ``side`` is 1 or -1 in each element: the product is exact, so fusing changes no bit.
LANESUM_INLINE Floats signed_sum(Floats a, Floats x, Floats side) {
#if LANESUM_VECTOR_BYTES == 64
    return _mm512_fmadd_ps(x, side, a);
#elif LANESUM_VECTOR_BYTES == 32
    return _mm256_fmadd_ps(x, side, a);
#else
    return a + x * side;
#endif
}

LANESUM_INLINE Floats limited(Floats x, float limit) { return greater(lesser(x, Floats{} + limit), Floats{} - limit); }
