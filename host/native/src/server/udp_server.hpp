// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// The aggregation server on UDP sockets, a thread for each; used by lanesum/server/loops.py.
#pragma once

#include <netinet/in.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "io/datagrams.hpp"
#include "io/busy_poll.hpp"
#include "server/aggregator.hpp"

namespace lanesum::server {

/// Serves jobs that are not served here; adds its answers. Called by any of the threads, several at a time.
using Others = std::function<void(const sockaddr_in &sender, std::span<const std::byte> datagram, bool congested,
                                  Answers &answers)>;

class UdpServer {
public:
    /// @param sockets bound to one address (SO_REUSEPORT), non-blocking, with IP_RECVTOS. They stay the caller's, and
    ///     open until ``stop``.
    /// @param aggregator outlives this.
    /// @param gso answers may leave as super-packets.
    /// @param gro datagrams may come in as such.
    /// @param spin_s how long to look for datagrams before sleeping.
    UdpServer(const std::vector<int> &sockets, Aggregator &aggregator, bool gso, bool gro, double spin_s,
              Others others);
    ~UdpServer();
    UdpServer(const UdpServer &) = delete;
    UdpServer &operator=(const UdpServer &) = delete;

    /// Throws std::system_error when a thread cannot be had; none runs then.
    void start();

    /// Ends all threads, and waits for that; idempotent.
    void stop();

    /// Datagrams that could not be handled, for want of memory or because a socket failed.
    std::uint64_t broken() const;

private:
    struct Worker {
        Worker(int fd, Aggregator &aggregator, bool gso, bool gro, double spin_s);

        int fd;
        io::Receiver receiver;
        io::Sender sender;
        io::BusyPoll busy_poll;
        Answers answers;
        Counters &counters;
        std::vector<std::uint64_t> order;  // of the answers, when they are sent
        std::atomic<std::uint64_t> broken = 0;
        std::thread thread;
    };

    void serve(Worker &worker);
    void take(Worker &worker);
    static void send(Worker &worker);

    Aggregator &aggregator_;
    Others others_;
    int stop_fd_;  // readable once threads are to end
    std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace lanesum::server
