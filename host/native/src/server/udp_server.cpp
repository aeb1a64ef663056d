// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "server/udp_server.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace lanesum::server {
namespace {

// Enough to spread the price of a system call; all their buffers still fit the second-level cache with packets of a
// kilobyte.
constexpr std::size_t BATCH = 32;
// More answers than this are sent before the next datagram is looked at, which may itself have WorkerSet::MOST.
constexpr std::size_t CROWD = 4096;
constexpr unsigned INDEX_BITS = 16;  // of an answer, below the 48 bits of an address
static_assert(CROWD + WorkerSet::MOST <= std::size_t{1} << INDEX_BITS);
constexpr int FAILED_PAUSE_MS = 100;

/// Signals are for the program's own threads, which may be waiting for one.
class SignalsBlocked {
public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked &) = delete;
    SignalsBlocked &operator=(const SignalsBlocked &) = delete;

private:
    sigset_t before_;
};

}  // namespace

UdpServer::Worker::Worker(int fd, Aggregator &aggregator, bool gso, bool gro, double spin_s)
    : fd(fd), receiver(fd, BATCH, gro), sender(fd, gso), busy_poll(spin_s), counters(aggregator.new_counters()) {}

UdpServer::UdpServer(const std::vector<int> &sockets, Aggregator &aggregator, bool gso, bool gro, double spin_s,
                     Others others)
    : aggregator_(aggregator), others_(std::move(others)), stop_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (stop_fd_ < 0) {
        throw std::system_error(errno, std::generic_category(), "eventfd");
    }
    try {
        for (const int fd : sockets) {
            workers_.push_back(std::make_unique<Worker>(fd, aggregator, gso, gro, spin_s));
        }
    } catch (...) {
        close(stop_fd_);
        throw;
    }
}

UdpServer::~UdpServer() {
    stop();
    close(stop_fd_);
}

void UdpServer::start() {
    const SignalsBlocked blocked;  // new threads inherit that
    try {
        for (const std::unique_ptr<Worker> &worker : workers_) {
            worker->thread = std::thread([this, &one = *worker] { serve(one); });
            pthread_setname_np(worker->thread.native_handle(), "lanesum-server");
        }
    } catch (...) {
        stop();
        throw;
    }
}

void UdpServer::stop() {
    eventfd_write(stop_fd_, 1);
    for (const std::unique_ptr<Worker> &worker : workers_) {
        if (worker->thread.joinable()) {
            worker->thread.join();
        }
    }
}

std::uint64_t UdpServer::broken() const {
    std::uint64_t broken = 0;
    for (const std::unique_ptr<Worker> &worker : workers_) {
        broken += worker->broken.load(std::memory_order_relaxed);
    }
    return broken;
}

void UdpServer::serve(Worker &worker) {
    pollfd waiting[] = {{stop_fd_, POLLIN, 0}, {worker.fd, POLLIN, 0}};
    for (;;) {
        // Looked at before every batch: there may always be another one.
        const bool there = worker.busy_poll.until([&waiting] { return poll(waiting, 2, 0) > 0; });
        if (!there && poll(waiting, 2, -1) < 0 && errno != EINTR) {
            worker.broken.fetch_add(1, std::memory_order_relaxed);
            poll(waiting, 1, FAILED_PAUSE_MS);
        }
        if (waiting[0].revents != 0) {
            return;
        }
        take(worker);
        if (worker.receiver.error() != 0) {
            worker.broken.fetch_add(1, std::memory_order_relaxed);
            poll(waiting, 1, FAILED_PAUSE_MS);
        }
    }
}

void UdpServer::take(Worker &worker) {
    const std::span<const io::Received> batch = worker.receiver.receive();
    if (batch.empty()) {
        return;
    }
    const std::shared_ptr<const Jobs> jobs = aggregator_.jobs();
    for (const io::Received &one : batch) {
        try {
            if (!handle(*jobs, one.sender, one.bytes, one.congested, worker.answers, worker.counters)) {
                others_(one.sender, one.bytes, one.congested, worker.answers);
            }
        } catch (...) {
            worker.broken.fetch_add(1, std::memory_order_relaxed);  // see send
        }
        if (worker.answers.list().size() > CROWD) {
            send(worker);
        }
    }
    send(worker);
}

/// Receiver by receiver, each one's answers in their order: only neighbours can be joined.
void UdpServer::send(Worker &worker) {
    try {
        const std::span<const Answers::Answer> list = worker.answers.list();
        worker.order.clear();
        for (std::size_t i = 0; i < list.size(); ++i) {
            worker.order.push_back(address_key(list[i].to) << INDEX_BITS | i);
        }
        std::sort(worker.order.begin(), worker.order.end());
        for (const std::uint64_t key : worker.order) {
            const Answers::Answer &answer = list[key & ((std::uint64_t{1} << INDEX_BITS) - 1)];
            worker.sender.add(&answer.to, answer.bytes);
        }
        // What could not be sent is lost, and whoever lacks it asks again.
        worker.sender.flush();
    } catch (...) {
        // Nothing but memory can be wanting. A server that has died over one packet takes all jobs with it.
        worker.broken.fetch_add(1, std::memory_order_relaxed);
    }
    worker.answers.clear();
}

}  // namespace lanesum::server
