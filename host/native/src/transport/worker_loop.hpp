// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Event loop of a worker, as ``PythonWorkerLoop`` in lanesum/transport/worker_loop.py, which explains the order of steps.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
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

/// Only ``close`` and ``wake`` may be called while another thread is in another method.
class WorkerLoop {
public:
    /// @param rounds have to exist as long as this.
    /// @param fds connected UDP sockets to the job's servers, in their order; duplicated.
    /// @param gso hand the kernel datagrams joined, as long as it accepts them.
    /// @param gro receive them joined, if the kernel supports it.
    /// @param spin_s busy-poll limit of one wait.
    /// @throws std::system_error without descriptors left.
    WorkerLoop(RoundSequence &rounds, std::span<const int> fds, bool gso, bool gro, double spin_s);
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
    LoopExit run_locked(double slice_s);
    LoopExit receive(double now, bool &progress);
    LoopExit send_due();
    LoopExit send_all(std::span<const Datagram> datagrams);
    bool wait(double seconds);
    void release();

    RoundSequence &rounds_;
    pid_t process_;
    std::vector<int> fds_;
    int wake_;
    std::vector<io::Receiver> receivers_;
    std::vector<io::Sender> senders_;
    std::vector<pollfd> polled_;
    io::BusyPoll busy_poll_;
    std::mutex running_;
    std::atomic<bool> closing_ = false;
    std::atomic<bool> woken_ = false;
    std::mutex wake_lock_;  // no thread closes wake_ while another uses it
    double begun_ = 0;
    double last_progress_ = 0;
    double deadline_s_ = 0;
    double leave_s_ = 0;
    std::array<std::byte, HEADER_BYTES> fatal_header_{};
    int error_ = 0;
    std::size_t failed_server_ = 0;
};

}  // namespace lanesum::transport
