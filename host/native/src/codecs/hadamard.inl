// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// The transform of lanesum/codecs/kernels/hadamard.py, several spans at once. Each result is a fixed tree of additions,
// in any order of the trees, so the bits are those of one span after the other.
//
// A source returns the vector of elements at a position, once for each position. A sink receives the results. So
// operations on elements before and after the transform require no pass over memory of their own.

/// Elements that are transformed in the first-level cache before the next larger spans.
constexpr std::size_t TILE = 4096;
/// Rows of a span each that are transformed at once, and elements of each: 128 KiB in the second-level cache. Rows at
/// large powers of two map to the same few lines of a cache, so such panels are copied to contiguous memory.
constexpr std::size_t ROWS = 256;
constexpr std::size_t WIDTH = 128;
/// Vectors combined in registers. Twice as many would fit AVX-512, but a first-level cache cannot hold 16 lines at
/// distances of a large power of two.
constexpr std::size_t RADIX = 8;

template <std::size_t SPAN, std::size_t... I>
LANESUM_INLINE Floats across(Floats x, std::index_sequence<I...>) {
    // a + b if the partner is above, a - b = a + (-b) if it is below.
    constexpr Floats side = {(I & SPAN ? -1.0F : 1.0F)...};
    const Floats partner = __builtin_shufflevector(x, x, (I ^ SPAN)...);
    return signed_sum(partner, x, side);
}

/// Transforms all spans below ``block`` inside a vector.
LANESUM_INLINE Floats inside(Floats x, std::size_t block) {
    if (block > 1) {
        x = across<1>(x, LaneIndices{});
    }
    if (block > 2) {
        x = across<2>(x, LaneIndices{});
    }
    if constexpr (LANES > 4) {
        if (block > 4) {
            x = across<4>(x, LaneIndices{});
        }
    }
    if constexpr (LANES > 8) {
        if (block > 8) {
            x = across<8>(x, LaneIndices{});
        }
    }
    return x;
}

template <std::size_t COUNT>
LANESUM_INLINE void butterflies(Floats *x) {
    if constexpr (COUNT > 1) {
        butterflies<COUNT / 2>(x);
        butterflies<COUNT / 2>(x + COUNT / 2);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < COUNT / 2; ++i) {
            const Floats a = x[i];
            const Floats b = x[i + COUNT / 2];
            x[i] = a + b;
            x[i + COUNT / 2] = a - b;
        }
    }
}

/// Transforms the spans ``span`` to ``span * COUNT / 2``, in rows, of a matrix.
template <std::size_t COUNT, typename Get, typename Put>
__attribute__((noinline)) void pass(std::size_t rows, std::size_t span, std::size_t width, const Get get,
                                    const Put put) {
    for (std::size_t base = 0; base < rows; base += COUNT * span) {
        for (std::size_t row = base; row < base + span; ++row) {
            for (std::size_t column = 0; column < width; column += LANES) {
                Floats x[COUNT];
#pragma GCC unroll 8
                for (std::size_t i = 0; i < COUNT; ++i) {
                    x[i] = get(row + i * span, column);
                }
                butterflies<COUNT>(x);
#pragma GCC unroll 8
                for (std::size_t i = 0; i < COUNT; ++i) {
                    put(row + i * span, column, x[i]);
                }
            }
        }
    }
}

/// Matrix with contiguous rows, in cache.
struct Scratch {
    float *values;
    std::size_t width;

    LANESUM_INLINE Floats operator()(std::size_t row, std::size_t column) const {
        return load<Floats>(values + row * width + column);
    }
    LANESUM_INLINE void operator()(std::size_t row, std::size_t column, Floats x) const {
        store(values + row * width + column, x);
    }
};

/// Transforms the columns of a matrix, whose number of rows is a power of two, in ``scratch``. Only passes of one radix
/// access memory outside: they are the bulk of the code.
template <typename Get, typename Put>
LANESUM_INLINE void columns(std::size_t rows, const Scratch scratch, const Get get, const Put put) {
    std::size_t span = 1;
    if (rows < RADIX) {
        pass<1>(rows, 1, scratch.width, get, scratch);
    } else {
        pass<RADIX>(rows, 1, scratch.width, get, scratch);
        span = RADIX;
    }
    while (rows / span > RADIX) {
        const std::size_t radix = rows / span / RADIX;
        if (radix >= RADIX) {
            pass<RADIX>(rows, span, scratch.width, scratch, scratch);
            span *= RADIX;
        } else if (radix >= 4) {
            pass<4>(rows, span, scratch.width, scratch, scratch);
            span *= 4;
        } else {
            pass<2>(rows, span, scratch.width, scratch, scratch);
            span *= 2;
        }
    }
    if (rows / span == RADIX) {
        return pass<RADIX>(rows, span, scratch.width, scratch, put);
    }
    for (; span < rows; span *= 2) {
        pass<2>(rows, span, scratch.width, scratch, scratch);
    }
    pass<1>(rows, 1, scratch.width, scratch, put);
}

struct Memory {
    float *values;

    LANESUM_INLINE Floats get(std::size_t at) const { return load<Floats>(values + at); }
    LANESUM_INLINE void put(std::size_t at, Floats x) const { store(values + at, x); }
};

/// Transforms one tile from its source to its sink.
template <typename Source, typename Sink>
void transform_tile(const Source &source, const Sink &sink, std::size_t at, std::size_t size, float *scratch) {
    columns(
        size / LANES, Scratch{scratch, LANES},
        [&source, at](std::size_t row, std::size_t)
            __attribute__((always_inline)) { return inside(source.get(at + row * LANES), LANES); },
        [&sink, at](std::size_t row, std::size_t, Floats x)
            __attribute__((always_inline)) { sink.put(at + row * LANES, x); });
}

/// Transforms rows of ``span`` elements each, panel by panel.
template <typename Sink>
void transform_rows(const Memory &source, const Sink &sink, std::size_t at, std::size_t span, std::size_t rows,
                    float *scratch) {
    for (std::size_t end = at + span; at < end; at += WIDTH) {
        columns(
            rows, Scratch{scratch, WIDTH},
            [&source, at, span](std::size_t row, std::size_t column)
                __attribute__((always_inline)) { return source.get(at + row * span + column); },
            [&sink, at, span](std::size_t row, std::size_t column, Floats x)
                __attribute__((always_inline)) { sink.put(at + row * span + column, x); });
    }
}

/// Transforms every ``block`` of ``length`` elements, a multiple of LANES. ``work``: ``length`` floats if ``block`` is
/// larger than a tile. The sink may overwrite it at the positions that it receives.
template <typename Source, typename Sink>
void transform(const Source &source, const Sink &sink, float *work, std::size_t length, std::size_t block) {
    alignas(64) float scratch[ROWS * WIDTH];
    if (block < LANES) {
        for (std::size_t at = 0; at < length; at += LANES) {
            sink.put(at, inside(source.get(at), block));
        }
        return;
    }
    if (block <= TILE) {
        for (std::size_t at = 0; at < length; at += block) {
            transform_tile(source, sink, at, block, scratch);
        }
        return;
    }
    const Memory memory{work};
    for (std::size_t start = 0; start < length; start += block) {
        for (std::size_t at = start; at < start + block; at += TILE) {
            transform_tile(source, memory, at, TILE, scratch);
        }
        std::size_t span = TILE;
        for (; block / span > ROWS; span *= ROWS) {
            for (std::size_t at = start; at < start + block; at += span * ROWS) {
                transform_rows(memory, memory, at, span, ROWS, scratch);
            }
        }
        transform_rows(memory, sink, start, span, block / span, scratch);
    }
}

void hadamard_transform(float *values, std::size_t count, std::size_t block) {
    const Memory memory{values};
    transform(memory, memory, values, count, block);
}
