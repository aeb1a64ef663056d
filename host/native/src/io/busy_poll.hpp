// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Busy polling before sleeping: a wake-up takes longer than most answers on a short path.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

namespace lanesum::io {

/// Busy-poll budget of one thread. Between two polls it yields the processor: with more processes than processors, the
/// other one may be the sender of the packet. After a wait without success, or one that another process made longer than
/// the limit, the next waits sleep at once: twice as many as after the last such wait, up to ``MAX_SKIPPED``.
class BusyPoll {
public:
    /// @param max_s limit of one wait; 0 for none.
    explicit BusyPoll(double max_s) : max_s_(max_s) {}

    /// Polls ``ready`` until it returns true, for at most ``seconds``. Returns false if the caller is to sleep: it did
    /// not, or was not polled.
    template <typename Ready>
    bool until(Ready ready, double seconds = std::numeric_limits<double>::infinity()) {
        if (max_s_ <= 0) {
            return false;
        }
        if (to_skip_ > 0) {
            --to_skip_;
            return false;
        }
        using clock = std::chrono::steady_clock;
        const clock::time_point begin = clock::now();
        const std::chrono::duration<double> limit(std::min(max_s_, seconds));
        bool found = ready();
        bool in_time = true;
        while (!found && in_time) {
            sched_yield();
            found = ready();
            in_time = clock::now() - begin < limit;
        }
        skipped_ = found && in_time ? 0 : std::min(2 * skipped_ + 1, MAX_SKIPPED);
        to_skip_ = skipped_;
        return found;
    }

private:
    static constexpr std::uint32_t MAX_SKIPPED = 1023;

    double max_s_;
    std::uint32_t skipped_ = 0;  // waits skipped after the last one without success
    std::uint32_t to_skip_ = 0;  // of them, waits still to come
};

}  // namespace lanesum::io
