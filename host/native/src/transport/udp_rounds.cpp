// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/udp_rounds.hpp"

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

namespace lanesum::transport {
namespace {

// So many messages are taken in one go before new packets are sent. Joined, they are up to 64 datagrams each, and more
// of them than the caches hold would be read from memory again.
constexpr std::size_t RECEIVE_BATCH = 64;
constexpr std::size_t RECEIVE_BATCH_JOINED = 16;

/// As ``time.monotonic``.
double monotonic() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

UdpRounds::UdpRounds(RoundSequence &rounds, std::span<const int> fds, bool join, bool take_joined, double spin_s)
    : rounds_(rounds), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), spin_(spin_s) {
    // Duplicates, because a number that somebody closes is soon somebody else's.
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
        receivers_.emplace_back(fd, take_joined ? RECEIVE_BATCH_JOINED : RECEIVE_BATCH, take_joined);
        senders_.emplace_back(fd, join);
    }
}

UdpRounds::~UdpRounds() { release(); }

void UdpRounds::release() {
    for (const int fd : fds_) {
        ::close(fd);
    }
    fds_.clear();
    if (wake_ >= 0) {
        ::close(wake_);
        wake_ = -1;
    }
}

void UdpRounds::close() {
    if (closing_.exchange(true)) {
        return;
    }
    eventfd_write(wake_, 1);
    const std::lock_guard guard(inside_);
    const std::lock_guard nobody_wakes(waking_);
    release();
}

void UdpRounds::wake() {
    const std::lock_guard guard(waking_);
    woken_ = true;
    if (wake_ >= 0) {
        eventfd_write(wake_, 1);
    }
}

bool UdpRounds::joins() const {
    return !senders_.empty() && std::ranges::all_of(senders_, [](const io::Sender &one) { return one.gso(); });
}

void UdpRounds::begin(double deadline_s, double leave_s) {
    begun_ = last_progress_ = monotonic();
    deadline_s_ = deadline_s;
    leave_s_ = leave_s;
}

Pause UdpRounds::run(double slice_s) {
    const std::lock_guard guard(inside_);
    return run_alone(slice_s);
}

Pause UdpRounds::exchange(LaneOp op, std::span<const std::uint32_t> words, double deadline_s, double slice_s,
                          std::shared_ptr<RoundWindow> &window) {
    const std::lock_guard guard(inside_);
    if (closing_) {
        return Pause::closed;
    }
    window = rounds_.start(op, words);
    window->await(window->chunks());
    begin(deadline_s, std::numeric_limits<double>::infinity());
    Pause pause = send_due();
    if (pause == Pause::slice) {
        // Nothing can have come yet, so nobody looks.
        const double longest_s = std::min({rounds_.next_timeout(begun_).value_or(deadline_s), deadline_s, slice_s});
        pause = wait(longest_s) ? run_alone(slice_s - (monotonic() - begun_)) : Pause::slice;
    }
    if (pause == Pause::reached) {
        window->await(RoundWindow::NOBODY);
        rounds_.finish(*window);
    }
    return pause;
}

/// ``run``, for whoever has ``inside_``.
Pause UdpRounds::run_alone(double slice_s) {
    const bool leaving = !std::isinf(leave_s_);
    const double slice_end = monotonic() + slice_s;
    while (!closing_) {
        const double now = monotonic();
        const std::uint64_t answered = rounds_.stats().answered_pendings;
        bool progress = false;
        if (const Pause pause = receive(now, progress); pause != Pause::slice) {
            return pause;
        }
        if (const Pause pause = send_due(); pause != Pause::slice) {
            return pause;
        }
        if (rounds_.reached()) {
            return Pause::reached;
        }
        if (woken_.exchange(false)) {
            eventfd_t count;
            eventfd_read(wake_, &count);
            return Pause::woken;
        }
        if (progress || (leaving && rounds_.stats().answered_pendings > answered)) {
            last_progress_ = now;
        }
        if (now - last_progress_ > deadline_s_ || now - begun_ > leave_s_) {
            return Pause::deadline;
        }
        if (now >= slice_end) {
            return Pause::slice;
        }
        const double timeout_s = rounds_.next_timeout(now).value_or(deadline_s_);
        if (!wait(std::min({timeout_s, deadline_s_, slice_end - now}))) {
            return Pause::slice;
        }
    }
    return Pause::closed;
}

/// Until a datagram comes, or ``close`` or ``wake`` is called, at most so long; false when a signal came.
bool UdpRounds::wait(double seconds) {
    polled_.clear();
    for (const int fd : fds_) {
        polled_.push_back({fd, POLLIN, 0});
    }
    polled_.push_back({wake_, POLLIN, 0});
    if (spin_.until([this] { return poll(polled_.data(), polled_.size(), 0) > 0; }, seconds)) {
        return true;
    }
    const double whole = std::floor(seconds);
    const timespec timeout{static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
    return ppoll(polled_.data(), polled_.size(), &timeout, nullptr) >= 0 || errno != EINTR;
}

Pause UdpRounds::send() {
    const std::lock_guard guard(inside_);
    return closing_ ? Pause::closed : send_due();
}

Pause UdpRounds::attend() {
    const std::lock_guard guard(inside_);
    if (closing_) {
        return Pause::closed;
    }
    bool progress = false;
    const Pause pause = receive(monotonic(), progress);
    return pause == Pause::slice ? send_due() : pause;
}

/// Takes what is waiting. ``progress``: a chunk was completed.
Pause UdpRounds::receive(double now, bool &progress) {
    for (io::Receiver &receiver : receivers_) {
        for (const io::Received &one : receiver.receive()) {
            const Taken taken = rounds_.receive(one.bytes, now);
            if (taken == Taken::conflict || taken == Taken::gone) {
                std::ranges::copy(one.bytes.first(HEADER_BYTES), verdict_.begin());
                if (taken == Taken::gone) {
                    return Pause::gone;
                }
                send_all(rounds_.last_words());
                return Pause::conflict;
            }
            progress |= taken == Taken::completed;
        }
        if (receiver.error() != 0) {
            error_ = receiver.error();
            return Pause::receive_failed;
        }
    }
    return Pause::slice;
}

Pause UdpRounds::send_due() { return send_all(rounds_.due(monotonic())); }

Pause UdpRounds::send_all(std::span<const Datagram> datagrams) {
    const std::size_t servers = senders_.size();
    for (const Datagram &datagram : datagrams) {
        senders_[servers == 1 ? 0 : Header::unpack(datagram.data()).slot % servers].add(nullptr, datagram);
    }
    Pause pause = Pause::slice;
    for (std::size_t i = 0; i < servers; ++i) {
        const int error = senders_[i].empty() ? 0 : senders_[i].flush();
        if (error != 0) {
            error_ = error;
            failed_server_ = i;
            pause = Pause::send_failed;
        }
    }
    return pause;
}

}  // namespace lanesum::transport
