// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// All kernels, for vectors of LANESUM_VECTOR_BYTES. The file of each level includes this once, in its own namespace and
// compiled for its own instructions. So no kernel may call an inline function that levels share.

#if defined(__FAST_MATH__)
#error "codecs need IEEE arithmetic: all workers of a job must get the same bits; build without -ffast-math"
#endif

#include "codecs/vectors.inl"

#include "codecs/philox.inl"

#include "codecs/hadamard.inl"

#include "codecs/thc.inl"

#include "codecs/dithers.inl"

#include "codecs/codes.inl"

#include "codecs/blocks.inl"

#include "codecs/digits.inl"

#include "codecs/fixed.inl"

#include "codecs/select.inl"

constexpr Kernels ALL = {
    .random_words = random_words,
    .hadamard_transform = hadamard_transform,
    .square_sum = square_sum,
    .rotate = rotate,
    .quantize = quantize,
    .decode = decode,
    .residual = residual,
    .magnitudes = magnitudes,
    .to_integers = to_integers,
    .from_integers = from_integers,
    .integer_residual = integer_residual,
    .sum_rows = sum_rows,
    .not_below = not_below,
    .largest = largest,
    .blocks =
        {
            .encode = encode_blocks,
            .estimate = estimate_blocks,
            .restore = restore_blocks,
            .decode = decode_blocks,
            .residual = residual_blocks,
            .pack_digits = pack_digits,
            .unpack_digits = unpack_digits,
        },
};
