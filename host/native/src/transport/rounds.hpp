// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// The rounds of a session, one after another, without sockets or clocks, as in lanesum/transport/rounds.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

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
    /// @param window packets under way at most (never more than the job's slots).
    /// @param congestion made for ``std::min(window, slots)`` packets.
    RoundSequence(JobTicket ticket, std::int64_t window, std::unique_ptr<CongestionControl> congestion);

    /// The next round; only when the last one has been finished. ``words``, in the machine's byte order, have to stay
    /// where they are, unchanged, until ``finish`` (or until nothing of this object is called any more).
    std::shared_ptr<RoundWindow> start(LaneOp op, std::span<const std::uint32_t> words);

    /// Count the round under way, which has all its results; the next one goes on where it ended.
    void finish();

    /// Datagrams to send at ``now``, in or between rounds; they are good until the next call of ``due``.
    std::span<const Datagram> due(double now);

    /// Seconds until ``due`` may have something to send; nothing when only a datagram can change that.
    std::optional<double> next_timeout(double now);

    /// Take one datagram, in or between rounds.
    Taken receive(std::span<const std::byte> datagram, double now);

    /// What is still to be sent after a conflict; good until the next one.
    std::span<const Datagram> last_words() const { return last_words_.datagrams(); }

    bool answered() const { return window_ != nullptr && window_->answered(); }
    std::vector<std::uint32_t> missing_workers() const;

    /// The round under way; null between rounds.
    RoundWindow *window() const { return window_.get(); }
    std::uint32_t epoch() const { return epoch_; }
    std::uint64_t position() const { return position_; }
    const TransportStats &stats() const { return link_->stats; }
    Link &link() const { return *link_; }

private:
    Taken take_pending(const Header &header, double now);
    Taken take_conflict(const Header &header);

    std::shared_ptr<Link> link_;
    std::uint32_t epoch_;
    std::uint64_t position_ = 0;
    std::int64_t most_;
    History history_;
    std::shared_ptr<RoundWindow> window_;
    Outbox outbox_;
    Outbox last_words_;
};

}  // namespace lanesum::transport
