// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// A worker's rounds on its sockets, as ``PythonLoop`` in lanesum/transport/loop.py; see there for the order of things.
#pragma once

#include <poll.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "io/datagrams.hpp"
#include "io/spin.hpp"
#include "protocol/spec.hpp"
#include "transport/rounds.hpp"

namespace lanesum::transport {

/// Why ``UdpRounds`` came back.
enum class Pause : std::uint8_t {
    reached,         ///< a round has as many results as somebody waits for (``RoundWindow::await``)
    woken,           ///< somebody has called ``wake``
    slice,           ///< nothing has happened: it was time, or a signal waits to be handled
    deadline,        ///< no progress for too long
    conflict,        ///< see ``verdict``; the last words have been sent
    gone,            ///< see ``verdict``
    send_failed,     ///< see ``error`` and ``failed_server``
    receive_failed,  ///< see ``error``
    closed,
};

/// Only ``close`` and ``wake`` may be called while another thread is in any of the others.
class UdpRounds {
public:
    /// @param rounds has to outlive this.
    /// @param fds connected UDP sockets to the job's servers, in their order; duplicated.
    /// @param join hand the kernel datagrams joined, as long as it takes them.
    /// @param take_joined take them joined from the kernel, if it can.
    /// @param spin_s how long to look for answers before sleeping.
    /// @throws std::system_error without descriptors left.
    UdpRounds(RoundSequence &rounds, std::span<const int> fds, bool join, bool take_joined, double spin_s);
    ~UdpRounds();
    UdpRounds(const UdpRounds &) = delete;
    UdpRounds &operator=(const UdpRounds &) = delete;

    /// Patience begins now.
    ///
    /// @param deadline_s longest time without progress.
    /// @param leave_s longest time at all, for a round that nobody minds if it never ends, in which it is progress to
    ///        answer others; infinite for all other rounds.
    void begin(double deadline_s, double leave_s);

    /// Sends and receives until a round has as many results as somebody waits for, or ``slice_s`` have passed.
    Pause run(double slice_s);

    /// A round from its beginning to its end where no other is under way: ``start``, ``send``, ``begin``, ``run`` and,
    /// when that has come to ``reached``, ``finish``. Else its end is still awaited, and ``run`` goes on with it.
    ///
    /// @param window the round; null where it was not started, because of ``closed``.
    Pause exchange(LaneOp op, std::span<const std::uint32_t> words, double deadline_s, double slice_s,
                   std::shared_ptr<RoundWindow> &window);

    /// Has ``run`` come back, or not begin to wait; from any thread.
    void wake();

    /// Sends what is due; ``slice`` when all is well.
    Pause send();

    /// Between rounds: takes what has come and sends what was asked for; ``slice`` when all is well.
    Pause attend();

    /// Wakes whoever is in here, waits until he has left, and gives the duplicates back; idempotent, from any thread.
    void close();

    std::span<const std::byte> verdict() const { return verdict_; }  ///< the header that ended the session
    int error() const { return error_; }
    std::size_t failed_server() const { return failed_server_; }
    /// Datagrams are joined: asked for, and not refused so far.
    bool joins() const;

private:
    Pause run_alone(double slice_s);
    Pause receive(double now, bool &progress);
    Pause send_due();
    Pause send_all(std::span<const Datagram> datagrams);
    bool wait(double seconds);
    void release();

    RoundSequence &rounds_;
    std::vector<int> fds_;
    int wake_;
    std::vector<io::Receiver> receivers_;
    std::vector<io::Sender> senders_;
    std::vector<pollfd> polled_;
    io::Spin spin_;
    std::mutex inside_;
    std::atomic<bool> closing_ = false;
    std::atomic<bool> woken_ = false;
    std::mutex waking_;  // guards wake_ from being closed meanwhile
    double begun_ = 0;
    double last_progress_ = 0;
    double deadline_s_ = 0;
    double leave_s_ = 0;
    std::array<std::byte, HEADER_BYTES> verdict_{};
    int error_ = 0;
    std::size_t failed_server_ = 0;
};

}  // namespace lanesum::transport
