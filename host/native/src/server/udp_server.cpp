// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "server/udp_server.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include "threads/signals.hpp"

namespace lanesum::server {
namespace {

// A batch spreads the cost of a system call. With packets of a kilobyte, its buffers fit the second-level cache.
constexpr std::size_t BATCH = 32;
// With more answers than this, they are sent before the next datagram, which may add WorkerSet::MAX_SIZE.
constexpr std::size_t MAX_QUEUED_ANSWERS = 4096;
constexpr unsigned INDEX_BITS = 16;  // index of an answer, below the 48 bits of an address
static_assert(MAX_QUEUED_ANSWERS + WorkerSet::MAX_SIZE <= std::size_t{1} << INDEX_BITS);
constexpr int FAILED_PAUSE_MS = 100;

}  // namespace

UdpServer::ServerThread::ServerThread(int fd, Aggregator &aggregator, bool gso, bool gro, double spin_s)
    : fd(fd), receiver(fd, BATCH, gro), sender(fd, gso), busy_poll(spin_s), counters(aggregator.new_counters()) {}

UdpServer::UdpServer(const std::vector<int> &sockets, Aggregator &aggregator, bool gso, bool join_all, bool gro,
                     double spin_s, Delegate delegate)
    : aggregator_(aggregator),
      delegate_(std::move(delegate)),
      join_all_(join_all),
      process_(getpid()),
      stop_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (stop_fd_ < 0) {
        throw std::system_error(errno, std::generic_category(), "eventfd");
    }
    try {
        for (const int fd : sockets) {
            threads_.push_back(std::make_unique<ServerThread>(fd, aggregator, gso, gro, spin_s));
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
    const SignalsBlocked blocked;  // new threads inherit the mask
    try {
        for (const std::unique_ptr<ServerThread> &one : threads_) {
            one->thread = std::thread([this, &self = *one] { serve(self); });
            pthread_setname_np(one->thread.native_handle(), "lanesum-server");
        }
    } catch (...) {
        stop();
        throw;
    }
}

void UdpServer::stop() {
    if (process_ != getpid()) {
        // A fork shares ``stop_fd_`` with the threads of its parent, and can neither join nor detach them.
        for (const std::unique_ptr<ServerThread> &one : threads_) {
            new (&one->thread) std::thread;
        }
        return;
    }
    eventfd_write(stop_fd_, 1);
    for (const std::unique_ptr<ServerThread> &one : threads_) {
        if (one->thread.joinable()) {
            one->thread.join();
        }
    }
}

std::uint64_t UdpServer::broken() const {
    std::uint64_t broken = 0;
    for (const std::unique_ptr<ServerThread> &one : threads_) {
        broken += one->broken.load(std::memory_order_relaxed);
    }
    return broken;
}

std::vector<std::uint64_t> UdpServer::received() const {
    std::vector<std::uint64_t> received;
    for (const std::unique_ptr<ServerThread> &one : threads_) {
        received.push_back(one->received.load(std::memory_order_relaxed));
    }
    return received;
}

void UdpServer::serve(ServerThread &self) {
    pollfd waiting[] = {{stop_fd_, POLLIN, 0}, {self.fd, POLLIN, 0}};
    for (;;) {
        // Both descriptors are polled before every batch, since datagrams may arrive without a pause.
        const bool ready = self.busy_poll.until([&waiting] { return poll(waiting, 2, 0) > 0; });
        if (!ready && poll(waiting, 2, -1) < 0 && errno != EINTR) {
            self.broken.fetch_add(1, std::memory_order_relaxed);
            poll(waiting, 1, FAILED_PAUSE_MS);
        }
        if (waiting[0].revents != 0) {
            return;
        }
        handle_batch(self);
        if (self.receiver.error() != 0) {
            self.broken.fetch_add(1, std::memory_order_relaxed);
            poll(waiting, 1, FAILED_PAUSE_MS);
        }
    }
}

void UdpServer::handle_batch(ServerThread &self) {
    const std::span<const io::Received> batch = self.receiver.receive();
    if (batch.empty()) {
        return;
    }
    self.received.fetch_add(batch.size(), std::memory_order_relaxed);
    const std::shared_ptr<const Jobs> jobs = aggregator_.jobs();
    for (const io::Received &received : batch) {
        try {
            if (!handle(*jobs, received.sender, received.bytes, received.congested, self.answers, self.counters)) {
                delegate_(received.sender, received.bytes, received.congested, self.answers);
            }
        } catch (...) {
            self.broken.fetch_add(1, std::memory_order_relaxed);  // see send_answers
        }
        if (self.answers.list().size() > MAX_QUEUED_ANSWERS) {
            send_answers(self);
        }
    }
    send_answers(self);
}

// Answers are sorted by receiver and keep their order otherwise: GSO joins only neighbours. A message has no gap of
// whole runs: packets from one thread of a worker have such gaps, and so the answers of two threads are not joined.
void UdpServer::send_answers(ServerThread &self) const {
    try {
        const std::span<const Answers::Answer> list = self.answers.list();
        self.order.clear();
        for (std::size_t i = 0; i < list.size(); ++i) {
            self.order.push_back(address_key(list[i].receiver) << INDEX_BITS | i);
        }
        std::sort(self.order.begin(), self.order.end());
        std::uint32_t message = 0, run = 0;
        for (const std::uint64_t key : self.order) {
            const Answers::Answer &answer = list[key & ((std::uint64_t{1} << INDEX_BITS) - 1)];
            message += answer.run != run && answer.run != run + 1;
            run = answer.run;
            self.sender.add(&answer.receiver, answer.bytes, join_all_ || answer.joined, message);
        }
        // An answer that cannot be sent is lost like one that the network drops: its receiver retransmits.
        self.sender.flush();
    } catch (...) {
        // Only std::bad_alloc is possible. A server that ended over one packet would end all its jobs.
        self.broken.fetch_add(1, std::memory_order_relaxed);
    }
    self.answers.clear();
}

}  // namespace lanesum::server
