// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/worker_loop.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>
#include <system_error>

#include "protocol/header.hpp"
#include "transport/constants.hpp"

namespace lanesum::transport {
namespace {

// A joined message holds up to 64 datagrams. More messages would not fit the caches, and be read from memory twice.
constexpr std::size_t RECEIVE_BATCH_JOINED = 16;

/// Returns the time as Python's ``time.monotonic``.
double monotonic() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

WorkerLoop::WorkerLoop(RoundSequence &rounds, std::span<const int> fds, bool gso, bool gro, double spin_s)
    : rounds_(rounds), process_(getpid()), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), busy_poll_(spin_s) {
    // Duplicates, because the number of a closed descriptor is soon used for another file.
    for (const int fd : fds) {
        fds_.push_back(wake_ < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0));
        if (fds_.back() < 0) {
            const int why = errno;
            fds_.pop_back();
            release();
            throw std::system_error(why, std::generic_category());
        }
    }
    receivers_.reserve(fds_.size());
    for (const int fd : fds_) {
        receivers_.emplace_back(fd, gro ? RECEIVE_BATCH_JOINED : RECEIVE_BATCH, gro);
        senders_.emplace_back(fd, gso);
    }
}

WorkerLoop::~WorkerLoop() { release(); }

void WorkerLoop::release() {
    for (const int fd : fds_) {
        ::close(fd);
    }
    fds_.clear();
    if (wake_ >= 0) {
        ::close(wake_);
        wake_ = -1;
    }
}

void WorkerLoop::close() {
    // The threads of the process that made this are not in its forks, but share ``wake_`` with them.
    if (closing_.exchange(true) || process_ != getpid()) {
        return;
    }
    eventfd_write(wake_, 1);
    const std::lock_guard guard(running_);
    const std::lock_guard wake_guard(wake_lock_);
    release();
}

void WorkerLoop::wake() {
    if (process_ != getpid()) {
        return;  // see close
    }
    const std::lock_guard guard(wake_lock_);
    woken_ = true;
    if (wake_ >= 0) {
        eventfd_write(wake_, 1);
    }
}

bool WorkerLoop::gso() const {
    return !senders_.empty() && std::ranges::all_of(senders_, [](const io::Sender &one) { return one.gso(); });
}

void WorkerLoop::begin(double deadline_s, double leave_s) {
    begun_ = last_progress_ = monotonic();
    deadline_s_ = deadline_s;
    leave_s_ = leave_s;
}

LoopExit WorkerLoop::run(double slice_s) {
    const std::lock_guard guard(running_);
    return run_locked(slice_s);
}

LoopExit WorkerLoop::exchange(LaneOp op, std::span<const std::uint32_t> words, double deadline_s, double slice_s,
                              std::shared_ptr<RoundState> &round) {
    const std::lock_guard guard(running_);
    if (closing_) {
        return LoopExit::closed;
    }
    round = rounds_.start(op, words);
    round->set_target(round->chunks());
    begin(deadline_s, std::numeric_limits<double>::infinity());
    LoopExit reason = send_due();
    if (reason == LoopExit::slice) {
        // Nothing can have arrived yet, so it waits first.
        const double longest_s = std::min({rounds_.next_timeout(begun_).value_or(deadline_s), deadline_s, slice_s});
        reason = wait(longest_s) ? run_locked(slice_s - (monotonic() - begun_)) : LoopExit::slice;
    }
    if (reason == LoopExit::reached) {
        round->set_target(RoundState::NO_TARGET);
        rounds_.finish(*round);
    }
    return reason;
}

/// As ``run``, for a caller that holds ``running_``.
LoopExit WorkerLoop::run_locked(double slice_s) {
    const bool leaving = !std::isinf(leave_s_);
    const double slice_end = monotonic() + slice_s;
    while (!closing_) {
        const double now = monotonic();
        const std::uint64_t answered = rounds_.stats().answered_pendings;
        bool progress = false;
        if (const LoopExit reason = receive(now, progress); reason != LoopExit::slice) {
            return reason;
        }
        if (const LoopExit reason = send_due(); reason != LoopExit::slice) {
            return reason;
        }
        if (rounds_.target_reached()) {
            return LoopExit::reached;
        }
        if (woken_.exchange(false)) {
            eventfd_t count;
            eventfd_read(wake_, &count);
            return LoopExit::woken;
        }
        if (progress || (leaving && rounds_.stats().answered_pendings > answered)) {
            last_progress_ = now;
        }
        if (now - last_progress_ > deadline_s_ || now - begun_ > leave_s_) {
            return LoopExit::deadline;
        }
        if (now >= slice_end) {
            return LoopExit::slice;
        }
        const double timeout_s = rounds_.next_timeout(now).value_or(deadline_s_);
        if (!wait(std::min({timeout_s, deadline_s_, slice_end - now}))) {
            return LoopExit::slice;
        }
    }
    return LoopExit::closed;
}

/// Waits until a datagram arrives, or ``close`` or ``wake`` is called, for at most ``seconds``; false after a signal.
bool WorkerLoop::wait(double seconds) {
    polled_.clear();
    for (const int fd : fds_) {
        polled_.push_back({fd, POLLIN, 0});
    }
    polled_.push_back({wake_, POLLIN, 0});
    if (busy_poll_.until([this] { return ::poll(polled_.data(), polled_.size(), 0) > 0; }, seconds)) {
        return true;
    }
    const double whole = std::floor(seconds);
    const timespec timeout{static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
    return ppoll(polled_.data(), polled_.size(), &timeout, nullptr) >= 0 || errno != EINTR;
}

LoopExit WorkerLoop::send() {
    const std::lock_guard guard(running_);
    return closing_ ? LoopExit::closed : send_due();
}

LoopExit WorkerLoop::poll() {
    const std::lock_guard guard(running_);
    if (closing_) {
        return LoopExit::closed;
    }
    bool progress = false;
    const LoopExit reason = receive(monotonic(), progress);
    return reason == LoopExit::slice ? send_due() : reason;
}

/// Receives the waiting datagrams. ``progress``: one completed a chunk.
LoopExit WorkerLoop::receive(double now, bool &progress) {
    for (io::Receiver &receiver : receivers_) {
        for (const io::Received &one : receiver.receive()) {
            const ReceiveOutcome outcome = rounds_.receive(one.bytes, now);
            if (outcome > ReceiveOutcome::completed) {
                std::ranges::copy(one.bytes.first(HEADER_BYTES), fatal_header_.begin());
                if (outcome != ReceiveOutcome::conflict) {
                    return outcome == ReceiveOutcome::gone ? LoopExit::gone : LoopExit::failed;
                }
                send_all(rounds_.final_datagrams());
                return LoopExit::conflict;
            }
            progress |= outcome == ReceiveOutcome::completed;
        }
        if (receiver.error() != 0) {
            error_ = receiver.error();
            return LoopExit::receive_failed;
        }
    }
    return LoopExit::slice;
}

LoopExit WorkerLoop::send_due() { return send_all(rounds_.due(monotonic())); }

LoopExit WorkerLoop::send_all(std::span<const Datagram> datagrams) {
    const auto servers = static_cast<std::uint32_t>(senders_.size());
    // A server steers joined datagrams by the first one. Where it has several threads, each message is for one of them.
    const bool joins_runs = rounds_.results_in_order();
    for (const Datagram &datagram : datagrams) {
        const std::uint32_t slot = servers == 1 && joins_runs ? 0 : Header::unpack(datagram.data()).slot;
        senders_[slot % servers].add(nullptr, datagram, true, joins_runs ? 0 : slot / (SLOT_RUN * servers));
    }
    LoopExit reason = LoopExit::slice;
    for (std::size_t i = 0; i < servers; ++i) {
        const int error = senders_[i].empty() ? 0 : senders_[i].flush();
        if (error != 0) {
            error_ = error;
            failed_server_ = i;
            reason = LoopExit::send_failed;
        }
    }
    return reason;
}

}  // namespace lanesum::transport
