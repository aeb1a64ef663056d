// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Memory for large arrays of words. What is given back is kept for a while for the next ones: gradients have the same
// sizes in every step, and memory that is new to the process costs the kernel about as much as compressing what is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lanesum::memory {

/// Arrays of fewer bytes come from malloc, which keeps them itself.
constexpr std::size_t LEAST_KEPT_BYTES = std::size_t{1} << 22;

struct GiveBack {
    std::size_t kept_bytes = 0;  // 0: from malloc

    void operator()(std::uint32_t *words) const;
};
using Words = std::unique_ptr<std::uint32_t[], GiveBack>;

/// With no values yet, or with what somebody has left there. Throws std::bad_alloc. From any thread.
Words make_words(std::size_t count);

/// Bytes that are kept and in nobody's use.
std::size_t kept_bytes();

/// Give those to the system.
void release_kept();

}  // namespace lanesum::memory
