// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Independent parts of one computation, distributed over threads of the process.
#pragma once

#include <cstddef>

namespace lanesum {

namespace detail {
using Part = void (*)(const void *work, std::size_t thread, std::size_t part);
void do_parts(std::size_t parts, std::size_t threads, Part call, const void *work);
}  // namespace detail

/// Calls ``work(thread, part)`` once for every part below ``parts``, and returns when all calls have returned. ``work``
/// must not throw. The caller is thread 0 of at most ``threads``. Threads are kept for later calls; one call at a time
/// has them. Meanwhile another caller does all its parts itself.
template <typename Work>
void do_parts(std::size_t parts, std::size_t threads, const Work &work) {
    detail::do_parts(
        parts, threads,
        [](const void *what, std::size_t thread, std::size_t part) {
            (*static_cast<const Work *>(what))(thread, part);
        },
        &work);
}

}  // namespace lanesum
