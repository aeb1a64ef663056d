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
#include <stdexcept>
#include <system_error>

#include "protocol/header.hpp"
#include "threads/signals.hpp"
#include "transport/constants.hpp"

namespace lanesum::transport {
namespace {

// A joined message holds up to 64 datagrams. More messages would not fit the caches, and be read from memory twice.
constexpr std::size_t RECEIVE_BATCH_JOINED = 16;
// Helpers need some time to wake: fewer chunks are done sooner by one thread.
constexpr std::uint64_t MIN_SHARED_CHUNKS = 512;

/// Returns the time as Python's ``time.monotonic``.
double monotonic() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

WorkerLoop::WorkerLoop(RoundSequence &rounds, std::span<const int> fds, std::span<const sockaddr_in> servers, bool gso,
                       bool gro, double spin_s)
    : rounds_(rounds), process_(getpid()), servers_(servers.begin(), servers.end()) {
    const std::size_t shares = rounds.shares();
    if (servers.empty() ? shares != 1 : fds.size() != shares) {
        throw std::invalid_argument("the sockets do not match the shares");
    }
    for (std::uint32_t share = 0; share < shares; ++share) {
        channels_.push_back(std::make_unique<Channel>(rounds.share(share), spin_s));
        Channel &channel = *channels_.back();
        channel.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        // Duplicates, because the number of a closed descriptor is soon used for another file.
        for (const int fd : servers.empty() ? fds : fds.subspan(share, 1)) {
            channel.fds.push_back(channel.wake < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0));
            if (channel.fds.back() < 0) {
                const int why = errno;
                channel.fds.pop_back();
                release();
                throw std::system_error(why, std::generic_category());
            }
        }
        channel.receivers.reserve(channel.fds.size());
        for (const int fd : channel.fds) {
            channel.receivers.emplace_back(fd, gro ? RECEIVE_BATCH_JOINED : RECEIVE_BATCH, gro);
        }
        for (std::size_t server = 0; server < std::max(channel.fds.size(), servers.size()); ++server) {
            channel.senders.emplace_back(channel.fds[servers.empty() ? server : 0], gso);
        }
    }
}

WorkerLoop::~WorkerLoop() { release(); }

void WorkerLoop::release() {
    if (process_ != getpid()) {
        static_cast<void>(helpers_.release());  // a fork has no such threads, and cannot join them
    } else if (helpers_ != nullptr) {
        {
            const std::lock_guard guard(helpers_->mutex);
            helpers_->quit = true;
        }
        helpers_->wake.notify_all();
        for (std::thread &thread : helpers_->threads) {
            thread.join();
        }
        helpers_.reset();
    }
    for (const auto &channel : channels_) {
        for (const int fd : channel->fds) {
            ::close(fd);
        }
        channel->fds.clear();
        if (channel->wake >= 0) {
            ::close(channel->wake);
            channel->wake = -1;
        }
    }
}

void WorkerLoop::close() {
    // The threads of the process that made this are not in its forks, but share ``wake`` with them.
    if (closing_.exchange(true) || process_ != getpid()) {
        return;
    }
    for (const auto &channel : channels_) {
        wake_up(*channel);
    }
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
    wake_up(*channels_.front());
}

void WorkerLoop::wake_up(const Channel &channel) {
    if (channel.wake >= 0) {
        eventfd_write(channel.wake, 1);
    }
}

void WorkerLoop::drain(const Channel &channel) {
    eventfd_t count;
    eventfd_read(channel.wake, &count);
}

/// Lets the thread that has the channel send what a result of its share admits. The caller holds ``state``.
void WorkerLoop::wake_for(Channel &channel) {
    channel.handed = true;
    if (channel.sleeping) {
        channel.sleeping = false;
        wake_up(channel.helped ? channel : *channels_.front());
    }
}

bool WorkerLoop::gso() const {
    return std::ranges::all_of(channels_, [](const auto &channel) {
        return !channel->senders.empty() &&
               std::ranges::all_of(channel->senders, [](const io::Sender &one) { return one.gso(); });
    });
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
    LoopExit reason = each_channel(&WorkerLoop::send_due);
    if (reason == LoopExit::slice) {
        // Nothing can have arrived yet, so it waits first.
        const double longest_s = std::min({rounds_.next_timeout(begun_).value_or(deadline_s), deadline_s, slice_s});
        reason = wait(*channels_.front(), longest_s) ? run_locked(slice_s - (monotonic() - begun_)) : LoopExit::slice;
    }
    if (reason == LoopExit::reached) {
        round->set_target(RoundState::NO_TARGET);
        rounds_.finish(*round);
    }
    return reason;
}

/// As ``run``, for a caller that holds ``running_``.
LoopExit WorkerLoop::run_locked(double slice_s) {
    if (channels_.size() > 1 && !closing_ && rounds_.chunks_left() >= MIN_SHARED_CHUNKS && start_helpers()) {
        return run_parallel(slice_s);
    }
    return lead(slice_s);
}

/// Starts a thread for each channel but the first. Without all of them, the caller serves the other channels.
bool WorkerLoop::start_helpers() {
    if (helpers_ == nullptr) {
        helpers_ = std::make_unique<Helpers>();
        const SignalsBlocked blocked;
        try {
            for (std::size_t i = 1; i < channels_.size(); ++i) {
                helpers_->threads.emplace_back([this, i] { serve(*channels_[i]); });
            }
        } catch (const std::system_error &) {
        }
    }
    return !helpers_->threads.empty();
}

LoopExit WorkerLoop::run_parallel(double slice_s) {
    Helpers &helpers = *helpers_;
    for (const auto &channel : channels_) {
        channel->reason = LoopExit::slice;
    }
    {
        const std::lock_guard guard(helpers.mutex);
        ++helpers.run;
        helpers.open = true;
    }
    helpers.wake.notify_all();
    LoopExit reason = lead(slice_s);
    ending_ = true;
    for (std::size_t i = 1; i < channels_.size(); ++i) {
        wake_up(*channels_[i]);
    }
    {
        std::unique_lock lock(helpers.mutex);
        helpers.open = false;
        helpers.left.wait(lock, [&] { return helpers.inside == 0; });
    }
    ending_ = false;
    for (std::size_t i = 1; i < channels_.size(); ++i) {
        Channel &channel = *channels_[i];
        channel.helped = false;
        const LoopExit other = channel.reason;
        const bool fatal = other > LoopExit::deadline;
        if (fatal && reason <= LoopExit::deadline) {
            reason = report(channel, other);
        } else if (other == LoopExit::reached && (reason == LoopExit::slice || reason == LoopExit::deadline)) {
            reason = other;
        }
    }
    return reason;
}

/// Body of a helper's thread.
void WorkerLoop::serve(Channel &channel) {
    Helpers &helpers = *helpers_;
    std::uint64_t last = 0;
    std::unique_lock lock(helpers.mutex);
    for (;;) {
        helpers.wake.wait(lock, [&] { return helpers.quit || (helpers.open && helpers.run != last); });
        if (helpers.quit) {
            return;
        }
        last = helpers.run;
        ++helpers.inside;
        lock.unlock();
        help(channel);
        lock.lock();
        if (--helpers.inside == 0) {
            helpers.left.notify_one();
        }
    }
}

/// Sends and receives for one channel until the run ends.
void WorkerLoop::help(Channel &channel) {
    channel.helped = true;
    while (!closing_ && !ending_) {
        const double now = monotonic();
        bool progress = false;
        LoopExit reason = service(channel, now, progress);
        if (progress) {
            last_progress_ = now;
        }
        if (reason == LoopExit::slice && rounds_.target_reached()) {
            reason = LoopExit::reached;
        }
        if (reason != LoopExit::slice) {
            end_run(channel, reason);
            return;
        }
        double timeout_s = MAX_PTO_S;
        if (mark_sleeping(channel, now, timeout_s)) {
            wait(channel, timeout_s);
        }
    }
}

/// Ends the run of all threads for a reason that a helper has.
void WorkerLoop::end_run(Channel &channel, LoopExit reason) {
    channel.reason = reason;
    ending_ = true;
    wake_up(*channels_.front());
}

/// Sends and receives for all channels that no helper has, and ends the run.
LoopExit WorkerLoop::lead(double slice_s) {
    const bool leaving = !std::isinf(leave_s_);
    const double slice_end = monotonic() + slice_s;
    while (!closing_) {
        const double now = monotonic();
        bool progress = false;
        const std::uint64_t answered = leaving ? rounds_.stats().answered_pendings : 0;
        for (const auto &channel : channels_) {
            if (channel->helped) {
                continue;
            }
            if (const LoopExit reason = service(*channel, now, progress); reason != LoopExit::slice) {
                return report(*channel, reason);
            }
        }
        if (rounds_.target_reached()) {
            return LoopExit::reached;
        }
        if (woken_.exchange(false)) {
            drain(*channels_.front());
            return LoopExit::woken;
        }
        if (progress || (leaving && rounds_.stats().answered_pendings > answered)) {
            last_progress_ = now;
        }
        if (now - last_progress_ > deadline_s_ || now - begun_ > leave_s_) {
            return LoopExit::deadline;
        }
        if (now >= slice_end || ending_) {
            return LoopExit::slice;
        }
        double timeout_s = deadline_s_;
        bool idle = true;
        for (const auto &channel : channels_) {
            idle = idle && (channel->helped || mark_sleeping(*channel, now, timeout_s));
        }
        if (idle && !wait(*channels_.front(), std::min({timeout_s, deadline_s_, slice_end - now}))) {
            return LoopExit::slice;
        }
    }
    return LoopExit::closed;
}

/// Returns true if the thread of a channel may wait, for at most ``timeout_s``, which becomes no longer. Another thread
/// that takes a result of its share wakes it then.
bool WorkerLoop::mark_sleeping(Channel &channel, double now, double &timeout_s) {
    const std::lock_guard guard(channel.state);
    timeout_s = std::min(timeout_s, channel.share.next_timeout(now).value_or(timeout_s));
    channel.sleeping = !channel.handed;
    return channel.sleeping;
}

/// Waits until a datagram arrives, or ``close`` or ``wake`` is called, for at most ``seconds``; false after a signal.
/// The first channel waits for all that no helper has.
bool WorkerLoop::wait(Channel &waiter, double seconds) {
    std::vector<pollfd> &polled = waiter.polled;
    polled.assign({{waiter.wake, POLLIN, 0}});
    for (const auto &channel : channels_) {
        if (channel.get() == &waiter || (&waiter == channels_.front().get() && !channel->helped)) {
            for (const int fd : channel->fds) {
                polled.push_back({fd, POLLIN, 0});
            }
        }
    }
    bool unbroken = waiter.busy_poll.until([&] { return ::poll(polled.data(), polled.size(), 0) > 0; }, seconds);
    if (!unbroken) {
        const double whole = std::floor(seconds);
        const timespec timeout{static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
        unbroken = ppoll(polled.data(), polled.size(), &timeout, nullptr) >= 0 || errno != EINTR;
    }
    if (polled.front().revents != 0 && channels_.size() > 1) {
        drain(waiter);
    }
    return unbroken;
}

LoopExit WorkerLoop::send() {
    const std::lock_guard guard(running_);
    return closing_ ? LoopExit::closed : each_channel(&WorkerLoop::send_due);
}

LoopExit WorkerLoop::poll() {
    const std::lock_guard guard(running_);
    return closing_ ? LoopExit::closed : each_channel(&WorkerLoop::poll_once);
}

/// Takes a step for each channel, while no helper works.
LoopExit WorkerLoop::each_channel(LoopExit (WorkerLoop::*step)(Channel &)) {
    for (const auto &channel : channels_) {
        if (const LoopExit reason = (this->*step)(*channel); reason != LoopExit::slice) {
            return report(*channel, reason);
        }
    }
    return LoopExit::slice;
}

LoopExit WorkerLoop::poll_once(Channel &channel) {
    bool progress = false;
    return service(channel, monotonic(), progress);
}

/// Receives the waiting datagrams of a channel, and sends those that are due.
LoopExit WorkerLoop::service(Channel &channel, double now, bool &progress) {
    const std::lock_guard guard(channel.io);
    const LoopExit reason = receive(channel, now, progress);
    return reason == LoopExit::slice ? send_due(channel) : reason;
}

/// Makes the error of a channel that of the loop; returns ``reason``.
LoopExit WorkerLoop::report(const Channel &channel, LoopExit reason) {
    fatal_header_ = channel.fatal_header;
    error_ = channel.error;
    failed_server_ = channel.failed_server;
    return reason;
}

bool WorkerLoop::is_server(const sockaddr_in &sender) const {
    return servers_.empty() || std::ranges::any_of(servers_, [&](const sockaddr_in &server) {
               return server.sin_addr.s_addr == sender.sin_addr.s_addr && server.sin_port == sender.sin_port;
           });
}

/// Receives the waiting datagrams. ``progress``: one completed a chunk.
LoopExit WorkerLoop::receive(Channel &channel, double now, bool &progress) {
    for (io::Receiver &receiver : channel.receivers) {
        const std::span<const io::Received> waiting = receiver.receive();
        for (std::size_t i = 0; i < waiting.size();) {
            // Joined datagrams came to the socket of the first one, so a few may be of other shares.
            const std::uint32_t number = rounds_.share_of(waiting[i].bytes);
            Channel &owner = *channels_[number];
            const std::lock_guard guard(owner.state);
            do {
                if (is_server(waiting[i].sender)) {
                    const ReceiveOutcome outcome = owner.share.receive(waiting[i].bytes, now);
                    if (outcome > ReceiveOutcome::completed) {
                        return end_session(channel, owner.share, waiting[i].bytes, outcome);
                    }
                    progress |= outcome == ReceiveOutcome::completed;
                }
                ++i;
            } while (i < waiting.size() && (channels_.size() == 1 || rounds_.share_of(waiting[i].bytes) == number));
            owner.share.update_done();
            if (&owner != &channel) {
                wake_for(owner);
            }
        }
        if (receiver.error() != 0) {
            channel.error = receiver.error();
            return LoopExit::receive_failed;
        }
    }
    return LoopExit::slice;
}

/// Sends the final datagrams after ``outcome``, if there are some, and returns the exit for it.
LoopExit WorkerLoop::end_session(Channel &channel, const SlotShare &share, std::span<const std::byte> datagram,
                                 ReceiveOutcome outcome) {
    std::ranges::copy(datagram.first(HEADER_BYTES), channel.fatal_header.begin());
    if (outcome != ReceiveOutcome::conflict) {
        return outcome == ReceiveOutcome::gone ? LoopExit::gone : LoopExit::failed;
    }
    send_all(channel, share.final_datagrams(), false);
    return LoopExit::conflict;
}

LoopExit WorkerLoop::send_due(Channel &channel) {
    std::span<const Datagram> due;
    bool in_order;
    {
        const std::lock_guard guard(channel.state);
        channel.sleeping = channel.handed = false;
        due = channel.share.due(monotonic());
        in_order = channel.share.results_in_order();
    }
    return send_all(channel, due, in_order);
}

/// ``joins_runs``: the servers have one thread, as far as is known. They steer joined datagrams by the first one; where a
/// server has several threads, each message is for one of them.
LoopExit WorkerLoop::send_all(Channel &channel, std::span<const Datagram> datagrams, bool joins_runs) {
    const auto servers = static_cast<std::uint32_t>(channel.senders.size());
    for (const Datagram &datagram : datagrams) {
        const std::uint32_t slot = servers == 1 && joins_runs ? 0 : Header::unpack(datagram.data()).slot;
        const std::uint32_t server = slot % servers;
        channel.senders[server].add(servers_.empty() ? nullptr : &servers_[server], datagram, true,
                                    joins_runs ? 0 : slot / (SLOT_RUN * servers));
    }
    LoopExit reason = LoopExit::slice;
    for (std::size_t i = 0; i < servers; ++i) {
        const int error = channel.senders[i].empty() ? 0 : channel.senders[i].flush();
        if (error != 0) {
            channel.error = error;
            channel.failed_server = i;
            reason = LoopExit::send_failed;
        }
    }
    return reason;
}

}  // namespace lanesum::transport
