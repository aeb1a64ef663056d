// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Memory for the result of a round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace lanesum::transport {

struct FreeWords {
    void operator()(std::uint32_t *words) const { std::free(words); }
};
using Words = std::unique_ptr<std::uint32_t[], FreeWords>;

/// With no values yet. Throws std::bad_alloc.
Words make_words(std::size_t count);

}  // namespace lanesum::transport
