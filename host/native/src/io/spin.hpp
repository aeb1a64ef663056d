// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Looking again and again for a moment before going to sleep: to be woken takes longer than most answers on a short path.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

namespace lanesum::io {

/// For one thread. Between two looks whoever else wants the processor has his turn: with more processes than processors
/// that may be the one whose packet is waited for. After a wait that was in vain, or longer than it should have been,
/// because somebody who has other things to do took the processor, waits sleep for a while: twice as many as the last
/// time, up to ``MOST``.
class Spin {
public:
    /// @param longest_s of one wait; 0 for none.
    explicit Spin(double longest_s) : longest_s_(longest_s) {}

    /// Asks ``ready`` until it says yes, for at most ``seconds``. False: sleep, it has not, or was not asked.
    template <typename Ready>
    bool until(Ready ready, double seconds = std::numeric_limits<double>::infinity()) {
        if (longest_s_ <= 0) {
            return false;
        }
        if (left_out_ > 0) {
            --left_out_;
            return false;
        }
        using clock = std::chrono::steady_clock;
        const clock::time_point begin = clock::now();
        const std::chrono::duration<double> longest(std::min(longest_s_, seconds));
        bool there = ready();
        bool in_time = true;
        while (!there && in_time) {
            sched_yield();
            there = ready();
            in_time = clock::now() - begin < longest;
        }
        pauses_ = there && in_time ? 0 : std::min(2 * pauses_ + 1, MOST);
        left_out_ = pauses_;
        return there;
    }

private:
    static constexpr std::uint32_t MOST = 1023;

    double longest_s_;
    std::uint32_t pauses_ = 0;    // waits to be left out after the next one in vain, about half as many
    std::uint32_t left_out_ = 0;  // still to come
};

}  // namespace lanesum::io
