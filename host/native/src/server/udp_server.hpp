// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Aggregation server on UDP sockets, with a thread for each, as used by lanesum/server/loops.py.
#pragma once

#include <netinet/in.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "io/busy_poll.hpp"
#include "io/datagrams.hpp"
#include "server/aggregator.hpp"

namespace lanesum::server {

/// Serves delegated jobs: adds the answers to one datagram. Several threads may call it at the same time.
using Delegate = std::function<void(const sockaddr_in &sender, std::span<const std::byte> datagram, bool congested,
                                    Answers &answers)>;

class UdpServer {
public:
    /// @param sockets bound to one address (SO_REUSEPORT), non-blocking, with IP_RECVTOS. The caller owns them and keeps
    ///     them open until ``stop``.
    /// @param aggregator must outlive this object.
    /// @param gso send answers of jobs with joined packets as UDP GSO super-packets.
    /// @param join_all with ``gso``: those of all jobs.
    /// @param gro accept UDP GRO super-packets.
    /// @param spin_s limit of busy polling in seconds.
    /// @param delegate serves the delegated jobs of ``aggregator``.
    UdpServer(const std::vector<int> &sockets, Aggregator &aggregator, bool gso, bool join_all, bool gro, double spin_s,
              Delegate delegate);
    ~UdpServer();
    UdpServer(const UdpServer &) = delete;
    UdpServer &operator=(const UdpServer &) = delete;

    /// Start the threads. Throws std::system_error if one cannot be started; none runs then.
    void start();

    /// Stop all threads and wait for them; idempotent.
    void stop();

    /// Return the number of datagrams that could not be handled: no memory, or a socket failed.
    std::uint64_t broken() const;

    /// Return the number of datagrams that each thread has received, in the order of the sockets.
    std::vector<std::uint64_t> received() const;

private:
    struct ServerThread {
        ServerThread(int fd, Aggregator &aggregator, bool gso, bool gro, double spin_s);

        int fd;
        io::Receiver receiver;
        io::Sender sender;
        io::BusyPoll busy_poll;
        Answers answers;
        Counters &counters;
        std::vector<std::uint64_t> order;  // receiver and index of each answer, sorted for sending
        std::atomic<std::uint64_t> broken = 0;
        std::atomic<std::uint64_t> received = 0;
        std::thread thread;
    };

    void serve(ServerThread &self);
    void handle_batch(ServerThread &self);
    void send_answers(ServerThread &self) const;

    Aggregator &aggregator_;
    Delegate delegate_;
    bool join_all_;
    pid_t process_;
    int stop_fd_;  // readable once the threads have to end
    std::vector<std::unique_ptr<ServerThread>> threads_;
};

}  // namespace lanesum::server
