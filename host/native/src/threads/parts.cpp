// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "threads/parts.hpp"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "io/busy_poll.hpp"
#include "threads/signals.hpp"

namespace lanesum::detail {
namespace {

/// Time for which threads poll before they sleep: longer than Python works between two calls of one all-reduce. Waking a
/// thread takes about as long as a call.
constexpr double POLL_S = 500e-6;

/// Threads of the process, and the call that has them.
class Team {
public:
    void work(std::size_t parts, std::size_t threads, Part call, const void *work) {
        const std::unique_lock caller(callers_, std::try_to_lock);
        if (!caller || parts <= 1 || threads <= 1) {
            for (std::size_t part = 0; part < parts; ++part) {
                call(work, 0, part);
            }
            return;
        }
        start(threads - 1);
        std::unique_lock lock(mutex_);
        call_ = call;
        work_ = work;
        limit_ = threads;
        joined_ = 0;
        parts_ = parts;
        next_ = 0;
        open_ = true;
        wake_.notify_all();
        join(lock);
        lock.unlock();
        poll_.until([this] { return running_ == 0; });
        lock.lock();
        finished_.wait(lock, [this] { return running_ == 0; });
    }

private:
    /// Starts helpers until there are ``wanted`` ones. With fewer, if the system has no more threads, the others do
    /// their parts.
    void start(std::size_t wanted) {
        const SignalsBlocked blocked;
        try {
            for (; helpers_ < wanted; ++helpers_) {
                std::thread([this] { serve(); }).detach();
            }
        } catch (const std::system_error &) {
        }
    }

    [[noreturn]] void serve() {
        io::BusyPoll poll(POLL_S);
        std::unique_lock lock(mutex_);
        for (;;) {
            lock.unlock();
            poll.until([this] { return open_.load(); });
            lock.lock();
            wake_.wait(lock, [this] { return open_.load(); });
            join(lock);
        }
    }

    /// Does parts of the call until none is left. ``lock`` is held before and after, and not meanwhile.
    void join(std::unique_lock<std::mutex> &lock) {
        const std::size_t thread = joined_++;
        ++running_;
        while (next_ < parts_) {
            const std::size_t part = next_++;
            open_ = next_ < parts_ && joined_ < limit_;
            lock.unlock();
            call_(work_, thread, part);
            lock.lock();
        }
        if (--running_ == 0) {
            finished_.notify_one();
        }
    }

    std::mutex callers_;  ///< held by the caller that has the threads
    std::size_t helpers_ = 0;
    io::BusyPoll poll_{POLL_S};

    std::mutex mutex_;  ///< guards all below; atomics may be read without it
    std::condition_variable wake_;
    std::condition_variable finished_;
    Part call_ = nullptr;
    const void *work_ = nullptr;
    std::size_t limit_ = 0;
    std::size_t parts_ = 0;
    std::size_t joined_ = 0;
    std::size_t next_ = 0;
    std::atomic<bool> open_ = false;  ///< there are parts, and one more thread may join
    std::atomic<std::size_t> running_ = 0;
};

std::atomic<Team *> current = nullptr;

/// Returns the threads of this process. They are never destroyed, because helpers may wait for work until it ends.
Team &team() {
    // A forked process does not inherit the threads of its parent.
    [[maybe_unused]] static const int handled = pthread_atfork(nullptr, nullptr, [] { current = nullptr; });
    Team *found = current.load();
    if (found == nullptr) {
        Team *const made = new Team;
        if (current.compare_exchange_strong(found, made)) {
            return *made;
        }
        delete made;
    }
    return *found;
}

}  // namespace

void do_parts(std::size_t parts, std::size_t threads, Part call, const void *work) {
    if (parts <= 1 || threads <= 1) {
        for (std::size_t part = 0; part < parts; ++part) {
            call(work, 0, part);
        }
        return;
    }
    team().work(parts, threads, call, work);
}

}  // namespace lanesum::detail
