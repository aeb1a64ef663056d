// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Event loop of a worker, as ``PythonWorkerLoop`` in lanesum/transport/worker_loop.py, which explains the order of steps.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "io/busy_poll.hpp"
#include "io/datagrams.hpp"
#include "protocol/spec.hpp"
#include "transport/round_sequence.hpp"

namespace lanesum::transport {

/// Reason for which ``WorkerLoop`` returned.
enum class LoopExit : std::uint8_t {
    reached,  ///< a round has reached its target (``RoundState::set_target``)
    woken,  ///< ``wake`` was called
    slice,  ///< nothing to report: the time slice is over, or a signal waits for its handler
    deadline,  ///< no progress until the deadline
    conflict,  ///< see ``fatal_header``; the final datagrams have been sent
    gone,  ///< see ``fatal_header``
    failed,  ///< see ``fatal_header``
    send_failed,  ///< see ``error`` and ``failed_server``
    receive_failed,  ///< see ``error``
    closed,
};

/// Rounds with several shares have a socket and a thread for each of them, see docs/native-transport.md. Their threads
/// work only in ``run`` and ``exchange``, and only for many chunks. The caller does the work of a thread that has not
/// begun yet.
///
/// Only ``close`` and ``wake`` may be called while another thread is in another method.
class WorkerLoop {
public:
    /// @param rounds have to exist as long as this.
    /// @param fds UDP sockets, duplicated. With one share they are connected to the job's servers, in their order.
    ///        Otherwise each share has one, none is connected, and all have the same address.
    /// @param servers addresses of the servers, in their order; only for sockets that are not connected.
    /// @param gso hand the kernel datagrams joined, as long as it accepts them.
    /// @param gro receive them joined, if the kernel supports it.
    /// @param spin_s busy-poll limit of one wait.
    /// @throws std::system_error without descriptors left; std::invalid_argument if numbers do not match.
    WorkerLoop(RoundSequence &rounds, std::span<const int> fds, std::span<const sockaddr_in> servers, bool gso,
               bool gro, double spin_s);
    ~WorkerLoop();
    WorkerLoop(const WorkerLoop &) = delete;
    WorkerLoop &operator=(const WorkerLoop &) = delete;

    /// Starts the deadlines of ``run``.
    ///
    /// @param deadline_s longest time without progress.
    /// @param leave_s longest time at all, for a round that the caller may give up on, in which answering other workers
    ///        is progress; infinite for all other rounds.
    void begin(double deadline_s, double leave_s);

    /// Sends and receives until a round has reached its target, or ``slice_s`` have passed.
    LoopExit run(double slice_s);

    /// Runs a round from beginning to end while no other is in flight: ``start``, ``send``, ``begin``, ``run`` and, if
    /// that returns ``reached``, ``finish``. Otherwise the round keeps its target, and ``run`` continues it.
    ///
    /// @param round the round; null if it was not started, because of ``closed``.
    LoopExit exchange(LaneOp op, std::span<const std::uint32_t> words, double deadline_s, double slice_s,
                      std::shared_ptr<RoundState> &round);

    /// Makes ``run`` return, or the next one not wait; from any thread.
    void wake();

    /// Sends the datagrams that are due; ``slice`` if all is well.
    LoopExit send();

    /// Receives the waiting datagrams and sends those that are due, without waiting; ``slice`` if all is well.
    LoopExit poll();

    /// Wakes the thread in another method, waits until it has left, and closes the duplicates; idempotent, from any
    /// thread. A fork of the process keeps its duplicates until the destructor.
    void close();

    std::span<const std::byte> fatal_header() const { return fatal_header_; }  ///< header that ended the session
    int error() const { return error_; }
    std::size_t failed_server() const { return failed_server_; }
    /// Datagrams are joined: requested, and not refused so far.
    bool gso() const;

private:
    /// Sockets and state of one share.
    struct Channel {
        Channel(SlotShare &of, double spin_s) : share(of), busy_poll(spin_s) {}

        SlotShare &share;
        int wake = -1;
        std::vector<int> fds;
        std::vector<io::Receiver> receivers;
        std::vector<io::Sender> senders;  // by number of the server
        io::BusyPoll busy_poll;
        std::vector<pollfd> polled;
        std::mutex io;  // held by the thread that uses all above
        std::mutex state;  // held by the thread that uses ``share``; after ``io``, and one at a time
        bool sleeping = false;  // the thread of the channel waits; guarded by ``state``
        bool handed = false;  // another thread took results of the share since; guarded by ``state``
        std::atomic<bool> helped = false;  // a helper has the channel, not the caller
        LoopExit reason = LoopExit::slice;
        std::array<std::byte, HEADER_BYTES> fatal_header{};
        int error = 0;
        std::size_t failed_server = 0;
    };
    /// Threads of all channels but the first.
    struct Helpers {
        std::vector<std::thread> threads;
        std::mutex mutex;  // guards all below
        std::condition_variable wake;
        std::condition_variable left;
        std::uint64_t run = 0;  // number of the run that helpers may join
        bool open = false;  // it has not ended
        std::size_t inside = 0;  // helpers in it
        bool quit = false;
    };

    LoopExit run_locked(double slice_s);
    LoopExit run_parallel(double slice_s);
    LoopExit lead(double slice_s);
    void help(Channel &channel);
    void serve(Channel &channel);
    bool start_helpers();
    void end_run(Channel &channel, LoopExit reason);
    LoopExit service(Channel &channel, double now, bool &progress);
    LoopExit receive(Channel &channel, double now, bool &progress);
    LoopExit send_due(Channel &channel);
    LoopExit poll_once(Channel &channel);
    LoopExit end_session(Channel &channel, const SlotShare &share, std::span<const std::byte> datagram,
                         ReceiveOutcome outcome);
    LoopExit send_all(Channel &channel, std::span<const Datagram> datagrams, bool joins_runs);
    LoopExit each_channel(LoopExit (WorkerLoop::*step)(Channel &));
    LoopExit report(const Channel &channel, LoopExit reason);
    bool is_server(const sockaddr_in &sender) const;
    bool mark_sleeping(Channel &channel, double now, double &timeout_s);
    bool wait(Channel &waiter, double seconds);
    static void wake_up(const Channel &channel);
    static void drain(const Channel &channel);
    void wake_for(Channel &channel);
    void release();

    RoundSequence &rounds_;
    pid_t process_;
    std::vector<sockaddr_in> servers_;  // empty for connected sockets
    std::vector<std::unique_ptr<Channel>> channels_;  // by share
    std::unique_ptr<Helpers> helpers_;  // null before the first run that has some
    std::mutex running_;
    std::atomic<bool> closing_ = false;
    std::atomic<bool> woken_ = false;
    std::atomic<bool> ending_ = false;  // of the run with helpers
    std::mutex wake_lock_;  // no thread closes a wake while another uses it
    double begun_ = 0;
    std::atomic<double> last_progress_ = 0;
    double deadline_s_ = 0;
    double leave_s_ = 0;
    std::array<std::byte, HEADER_BYTES> fatal_header_{};
    int error_ = 0;
    std::size_t failed_server_ = 0;
};

}  // namespace lanesum::transport
