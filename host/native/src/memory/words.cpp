// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "memory/words.hpp"

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
static_assert(LEAST_KEPT_BYTES >= 2 * HUGE_PAGE_BYTES);
// What nobody took in so many turns is of a size that nobody needs any more. A step of a model with many buckets takes
// a few for each.
constexpr std::uint64_t IDLE_TURNS = 256;
// An array lies in at most one part of so many more memory than it needs.
constexpr std::size_t SPARE = 4;

/// Never more bytes than were ever in use at the same time.
class Kept {
public:
    /// A block that somebody has given back, or a new one; of at least ``bytes``, which becomes what it has.
    void *take(std::size_t &bytes) {
        const std::lock_guard guard(lock_);
        ++turn_;
        drop([this](const Block &one) { return turn_ - one.given_back > IDLE_TURNS; });
        void *at = nullptr;
        const auto best = std::ranges::min_element(blocks_, {}, [bytes](const Block &one) {
            return fits(one, bytes) ? one.bytes : SIZE_MAX;
        });
        if (best != blocks_.end() && fits(*best, bytes)) {
            at = best->at;
            bytes = best->bytes;
            bytes_ -= bytes;
            blocks_.erase(best);
        } else if ((at = fresh(bytes)) == nullptr) {
            drop([](const Block &) { return true; });
            if ((at = fresh(bytes)) == nullptr) {
                throw std::bad_alloc();
            }
        }
        in_use_ += bytes;
        most_ = std::max(most_, in_use_);
        return at;
    }

    void give_back(void *at, std::size_t bytes) noexcept {
        const std::lock_guard guard(lock_);
        in_use_ -= bytes;
        try {
            blocks_.push_back({at, bytes, turn_});
            bytes_ += bytes;
        } catch (const std::bad_alloc &) {
            std::free(at);
        }
        drop([this](const Block &) { return bytes_ > most_; });
    }

    std::size_t bytes() {
        const std::lock_guard guard(lock_);
        return bytes_;
    }

    void release() {
        const std::lock_guard guard(lock_);
        drop([](const Block &) { return true; });
    }

private:
    struct Block {
        void *at;
        std::size_t bytes;
        std::uint64_t given_back;  // in which turn
    };

    static bool fits(const Block &one, std::size_t bytes) {
        return one.bytes >= bytes && one.bytes <= bytes + bytes / SPARE;
    }

    static void *fresh(std::size_t bytes) {
        void *at = std::aligned_alloc(HUGE_PAGE_BYTES, bytes);
        if (at != nullptr) {
            madvise(at, bytes, MADV_HUGEPAGE);  // a wish: where it is refused, pages are small
        }
        return at;
    }

    /// The oldest first.
    template <typename Unwanted>
    void drop(Unwanted unwanted) {
        std::erase_if(blocks_, [&](const Block &one) {
            if (!unwanted(one)) {
                return false;
            }
            std::free(one.at);
            bytes_ -= one.bytes;
            return true;
        });
    }

    std::mutex lock_;
    std::vector<Block> blocks_;  // in the order in which they were given back
    std::uint64_t turn_ = 0;
    std::size_t bytes_ = 0;   // of the blocks
    std::size_t in_use_ = 0;  // of those that somebody has
    std::size_t most_ = 0;    // that were ever in use
};

Kept &kept() {
    // Never destroyed: arrays may be given back while the process ends.
    static Kept &all = *new Kept;
    return all;
}

}  // namespace

void GiveBack::operator()(std::uint32_t *words) const {
    if (kept_bytes == 0) {
        std::free(words);
    } else {
        kept().give_back(words, kept_bytes);
    }
}

Words make_words(std::size_t count) {
    std::size_t bytes = count * WORD_BYTES;
    if (bytes < LEAST_KEPT_BYTES) {
        void *words = std::malloc(std::max<std::size_t>(bytes, 1));
        if (words == nullptr) {
            throw std::bad_alloc();
        }
        return Words(static_cast<std::uint32_t *>(words));
    }
    bytes = (bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    void *words = kept().take(bytes);
    return Words(static_cast<std::uint32_t *>(words), GiveBack{bytes});
}

std::size_t kept_bytes() { return kept().bytes(); }

void release_kept() { kept().release(); }

}  // namespace lanesum::memory
