// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/words.hpp"

#include <sys/mman.h>

#include <new>

#include "protocol/spec.hpp"

namespace lanesum::transport {
namespace {

constexpr std::size_t HUGE_PAGE_BYTES = std::size_t{1} << 21;

}  // namespace

Words make_words(std::size_t count) {
    const std::size_t bytes = count * WORD_BYTES;
    void *words;
    if (bytes < 2 * HUGE_PAGE_BYTES) {
        words = std::malloc(bytes);
    } else {
        // Memory that is new in every round costs a page fault for every few packets, unless its pages are huge.
        const std::size_t rounded = (bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
        words = std::aligned_alloc(HUGE_PAGE_BYTES, rounded);
        if (words != nullptr) {
            madvise(words, rounded, MADV_HUGEPAGE);  // a wish: where it is refused, pages are small
        }
    }
    if (words == nullptr) {
        throw std::bad_alloc();
    }
    return Words(static_cast<std::uint32_t *>(words));
}

}  // namespace lanesum::transport
