// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "memory/array_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include "protocol/spec.hpp"

namespace lanesum::memory {
namespace {

constexpr std::size_t HUGE_PAGE_BYTES = std::size_t{1} << 21;
static_assert(MIN_POOLED_BYTES >= HUGE_PAGE_BYTES);
// Blocks have multiples of this size. With whole huge pages, the smallest ones would be twice as long as their arrays.
constexpr std::size_t STEP_BYTES = HUGE_PAGE_BYTES / 8;
// A block that was free during this many allocations has a size that is no longer in use. A step of a model with many
// buckets makes a few allocations for each of them.
constexpr std::uint64_t MAX_IDLE_ALLOCATIONS = 256;
// A block may exceed the requested bytes by this fraction of them: 1 / 4.
constexpr std::size_t MAX_SPARE_DIVISOR = 4;

/// Blocks that may be used again. Free and used blocks together never exceed the largest number of bytes ever in use.
class ArrayPool {
public:
    /// Return a free block, or a new one, of at least ``bytes``; ``bytes`` becomes its size.
    void *acquire(std::size_t &bytes) {
        const std::lock_guard guard(lock_);
        ++allocations_;
        drop([this](const Block &block) { return allocations_ - block.freed_at > MAX_IDLE_ALLOCATIONS; });
        void *at = nullptr;
        const auto best = std::ranges::min_element(blocks_, {}, [bytes](const Block &block) {
            return fits(block, bytes) ? block.bytes : SIZE_MAX;
        });
        if (best != blocks_.end() && fits(*best, bytes)) {
            at = best->at;
            bytes = best->bytes;
            free_bytes_ -= bytes;
            blocks_.erase(best);
        } else if ((at = allocate(bytes)) == nullptr) {
            drop([](const Block &) { return true; });
            if ((at = allocate(bytes)) == nullptr) {
                throw std::bad_alloc();
            }
        }
        used_bytes_ += bytes;
        max_used_bytes_ = std::max(max_used_bytes_, used_bytes_);
        return at;
    }

    void release(void *at, std::size_t bytes) noexcept {
        const std::lock_guard guard(lock_);
        used_bytes_ -= bytes;
        try {
            blocks_.push_back({at, bytes, allocations_});
            free_bytes_ += bytes;
        } catch (const std::bad_alloc &) {
            std::free(at);
        }
        drop([this](const Block &) { return free_bytes_ > max_used_bytes_; });
    }

    std::size_t free_bytes() {
        const std::lock_guard guard(lock_);
        return free_bytes_;
    }

    void drop_all() {
        const std::lock_guard guard(lock_);
        drop([](const Block &) { return true; });
    }

private:
    struct Block {
        void *at;
        std::size_t bytes;
        std::uint64_t freed_at;  // value of allocations_ when it was released
    };

    static bool fits(const Block &block, std::size_t bytes) {
        return block.bytes >= bytes && block.bytes <= bytes + bytes / MAX_SPARE_DIVISOR;
    }

    static void *allocate(std::size_t bytes) {
        void *at = nullptr;
        if (posix_memalign(&at, HUGE_PAGE_BYTES, bytes) != 0) {
            return nullptr;
        }
        madvise(at, bytes, MADV_HUGEPAGE);  // optional: if it fails, pages are small
        return at;
    }

    /// Free the blocks for which ``unwanted`` returns true, the oldest first.
    template <typename Unwanted>
    void drop(Unwanted unwanted) {
        std::erase_if(blocks_, [&](const Block &block) {
            if (!unwanted(block)) {
                return false;
            }
            std::free(block.at);
            free_bytes_ -= block.bytes;
            return true;
        });
    }

    std::mutex lock_;
    std::vector<Block> blocks_;  // free blocks, in the order of their release
    std::uint64_t allocations_ = 0;
    std::size_t free_bytes_ = 0;
    std::size_t used_bytes_ = 0;
    std::size_t max_used_bytes_ = 0;
};

ArrayPool &pool() {
    // Never destroyed, because arrays may be freed while the process ends.
    static ArrayPool &instance = *new ArrayPool;
    return instance;
}

}  // namespace

void ReturnToPool::operator()(std::uint32_t *words) const {
    if (pooled_bytes == 0) {
        std::free(words);
    } else {
        pool().release(words, pooled_bytes);
    }
}

Words allocate_words(std::size_t count) {
    std::size_t bytes = count * WORD_BYTES;
    if (bytes < MIN_POOLED_BYTES) {
        void *words = std::malloc(std::max<std::size_t>(bytes, 1));
        if (words == nullptr) {
            throw std::bad_alloc();
        }
        return Words(static_cast<std::uint32_t *>(words));
    }
    bytes = (bytes + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
    void *words = pool().acquire(bytes);
    return Words(static_cast<std::uint32_t *>(words), ReturnToPool{bytes});
}

std::size_t pooled_bytes() { return pool().free_bytes(); }

void release_pooled() { pool().drop_all(); }

}  // namespace lanesum::memory
