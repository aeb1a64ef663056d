// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// The rounds of a session, in order and a few at a time, without sockets or clocks, as in lanesum/transport/rounds.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "transport/flights.hpp"
#include "transport/history.hpp"
#include "transport/link.hpp"
#include "transport/outbox.hpp"
#include "transport/window.hpp"

namespace lanesum::transport {

/// What became of a datagram. The last two end the session, and become MismatchError and ResultGoneError in Python.
enum class Taken : std::uint8_t { nothing, completed, conflict, gone };

/// Not for more than one thread at a time, except ``stats``.
class RoundSequence {
public:
    static constexpr std::size_t MAX_ACTIVE = 8;  // rounds under way at most

    /// @param window packets under way at most (never more than the job's slots).
    /// @param congestion made for ``std::min(window, slots)`` packets.
    RoundSequence(JobTicket ticket, std::int64_t window, std::unique_ptr<CongestionControl> congestion,
                  bool pacing = false);

    /// There is room for one more round.
    bool can_start() const { return flights_.windows().size() < (link_->ticket.quorum != 0 ? 1 : MAX_ACTIVE); }

    /// The next round; only when ``can_start``. ``words``, in the machine's byte order, have to stay where they are,
    /// unchanged, until ``finish`` of this round (or until nothing of this object is called any more).
    std::shared_ptr<RoundWindow> start(LaneOp op, std::span<const std::uint32_t> words);

    /// Count a round that has all its results, which are known now to whoever started it.
    void finish(RoundWindow &window);

    /// Datagrams to send at ``now``, in or between rounds; they are good until the next call of ``due``.
    std::span<const Datagram> due(double now);

    /// Seconds until ``due`` may have something to send; nothing when only a datagram can change that.
    std::optional<double> next_timeout(double now);

    /// Take one datagram, in or between rounds.
    Taken receive(std::span<const std::byte> datagram, double now);

    /// What is still to be sent after a conflict; good until the next one.
    std::span<const Datagram> last_words() const { return last_words_.datagrams(); }

    bool answered() const;
    std::vector<std::uint32_t> missing_workers() const;

    /// Some round has as many results at its beginning as somebody waits for (``RoundWindow::await``).
    bool reached() const;
    std::uint32_t epoch() const;
    std::uint64_t position() const;
    const TransportStats &stats() const { return link_->stats; }
    Link &link() const { return *link_; }

private:
    /// The round of that number, if it is under way.
    RoundWindow *under_way(std::uint32_t epoch) const;
    Taken take_pending(RoundWindow *window, const Header &header, double now);
    Taken take_conflict(const RoundWindow *own, const Header &header);

    std::shared_ptr<Link> link_;
    std::uint32_t next_epoch_;
    History history_;
    Flights flights_;
    Outbox outbox_;
    Outbox last_words_;
};

}  // namespace lanesum::transport
