// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Stress test of computations in parts for the sanitizers: several callers and a forked process, for some seconds.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "threads/parts.hpp"

using namespace lanesum;

// ThreadSanitizer does not support new threads in a child of a process with several threads.
#if defined(__has_feature)
#define LANESUM_HAS_FEATURE(name) __has_feature(name)
#else
#define LANESUM_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || LANESUM_HAS_FEATURE(thread_sanitizer)
constexpr bool UNDER_THREAD_SANITIZER = true;
#else
constexpr bool UNDER_THREAD_SANITIZER = false;
#endif

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t CALLERS = 3;
constexpr std::size_t MAX_THREADS = 5;
constexpr std::size_t MAX_PARTS = 40;

std::atomic<std::uint64_t> calls = 0;
std::atomic<std::uint64_t> wrong = 0;

void expect(bool holds, const char *what) {
    if (!holds) {
        wrong.fetch_add(1);
        std::fprintf(stderr, "%s\n", what);
    }
}

/// Every part is done once, and no thread does two at once.
void check_call(std::size_t parts, std::size_t threads) {
    std::vector<unsigned> done(parts, 0);
    std::vector<std::atomic<bool>> busy(threads);
    do_parts(parts, threads, [&](std::size_t thread, std::size_t part) {
        expect(thread < threads, "a thread has a number above the limit");
        expect(!busy[thread].exchange(true), "two parts have the same thread at once");
        ++done[part];
        busy[thread] = false;
    });
    for (const unsigned times : done) {
        expect(times == 1, "a part was not done once");
    }
    calls.fetch_add(1);
}

/// All threads join: each part waits until the others have begun.
void check_together(std::size_t threads) {
    std::atomic<std::size_t> begun = 0;
    do_parts(threads, threads, [&](std::size_t, std::size_t) {
        begun.fetch_add(1);
        while (begun < threads) {
            std::this_thread::yield();
        }
    });
    expect(begun == threads, "fewer threads than parts");
}

void call_until(Clock::time_point deadline, unsigned seed) {
    std::mt19937 random(seed);
    while (Clock::now() < deadline) {
        check_call(random() % (MAX_PARTS + 1), 1 + random() % MAX_THREADS);
        if (random() % 8 == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));  // the helpers fall asleep
        }
    }
}

/// A child process has threads of its own.
void check_fork() {
    const pid_t child = fork();
    if (child == 0) {
        check_together(3);
        check_call(20, 3);
        _exit(wrong == 0 ? 0 : 1);
    }
    int status = 0;
    expect(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the forked process failed");
}

}  // namespace

int main(int count, char **arguments) {
    const double seconds = count > 1 ? std::atof(arguments[1]) : 5;
    for (std::size_t threads = 1; threads <= MAX_THREADS; ++threads) {
        check_together(threads);
    }
    if (!UNDER_THREAD_SANITIZER) {
        check_fork();
    }
    const auto deadline =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    std::vector<std::thread> callers;
    for (unsigned seed = 0; seed < CALLERS; ++seed) {
        callers.emplace_back(call_until, deadline, seed);
    }
    for (std::thread &caller : callers) {
        caller.join();
    }
    std::printf("%llu calls, %llu wrong\n", static_cast<unsigned long long>(calls.load()),
                static_cast<unsigned long long>(wrong.load()));
    return wrong == 0 && calls > 0 ? 0 : 1;
}
