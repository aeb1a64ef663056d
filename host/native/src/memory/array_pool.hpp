// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Pooled memory of large arrays. Freed memory is kept for later arrays: gradients have the same sizes in every step, and
// the page faults of new memory cost about as much as compressing its content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lanesum::memory {

/// Smaller arrays come from malloc, which reuses memory itself.
constexpr std::size_t MIN_POOLED_BYTES = std::size_t{1} << 21;

/// Deleter of ``Words``.
struct ReturnToPool {
    std::size_t pooled_bytes = 0;  // 0: from malloc

    void operator()(std::uint32_t *words) const;
};
using Words = std::unique_ptr<std::uint32_t[], ReturnToPool>;

/// Return memory for ``count`` words; its content is undefined. Thread-safe. Throws std::bad_alloc.
Words allocate_words(std::size_t count);

/// Return the bytes in the pool that are not in use.
std::size_t pooled_bytes();

/// Return these bytes to the operating system.
void release_pooled();

}  // namespace lanesum::memory
