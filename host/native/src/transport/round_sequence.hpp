// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// The rounds of a session, in order and a few at a time, as in lanesum/transport/round_sequence.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "transport/constants.hpp"
#include "transport/link.hpp"
#include "transport/outbox.hpp"
#include "transport/recovery.hpp"
#include "transport/retransmit_buffer.hpp"
#include "transport/round_state.hpp"
#include "transport/slot_scheduler.hpp"

namespace lanesum::transport {

/// Outcome of a datagram. The last three end the session, and become MismatchError, ResultGoneError and
/// CertificationError in Python.
enum class ReceiveOutcome : std::uint8_t { nothing, completed, conflict, gone, failed };

/// For one thread at a time, except ``stats``.
class RoundSequence {
public:
    /// @param window congestion window, at most (never more than the job's slots).
    /// @param congestion made for ``std::min(window, slots)`` packets.
    RoundSequence(JobTicket ticket, std::int64_t window, std::unique_ptr<CongestionControl> congestion,
                  bool pacing = false);

    bool can_start() const {
        return scheduler_.rounds().size() < (link_->ticket.quorum != 0 ? 1 : MAX_ROUNDS_IN_FLIGHT);
    }

    /// Starts the next round; only when ``can_start``. ``words``, in the machine's byte order, have to stay in place,
    /// unchanged, until ``finish`` of this round, or until no method of this object is called any more.
    /// @param opening the round opens the session; its packets bypass the switches.
    /// @param scattered each worker gets the sum of its shard; the words are equal shards of whole groups.
    std::shared_ptr<RoundState> start(LaneOp op, std::span<const std::uint32_t> words, bool opening = false,
                                      bool scattered = false);

    /// Sets the number of the next round; only while no round is in flight. Of ``stats``, only foreign packets remain.
    void continue_at(std::uint32_t epoch);

    /// Counts and retires a complete round, whose result the caller has.
    void finish(RoundState &round);

    /// Returns the datagrams to send at ``now``, in or between rounds; valid until the next call of ``due``.
    std::span<const Datagram> due(double now);

    /// See ``LossDetector``.
    bool results_in_order() const { return recovery_.results_in_order(); }

    /// Returns the seconds until ``due`` may have something to send; nothing if only a datagram can change that.
    std::optional<double> next_timeout(double now);

    /// Takes one datagram, in or between rounds.
    ReceiveOutcome receive(std::span<const std::byte> datagram, double now);

    /// Returns the datagrams to send after a conflict; valid until the next one.
    std::span<const Datagram> final_datagrams() const { return final_outbox_.datagrams(); }

    bool answered() const;
    std::vector<std::uint32_t> missing_workers() const;

    /// A round has reached its target (``RoundState::set_target``).
    bool target_reached() const;
    std::uint32_t epoch() const;
    std::uint64_t position() const;
    const TransportStats &stats() const { return link_->stats; }
    Link &link() const { return *link_; }

private:
    void retransmit(double now);
    void send_first(double now);
    std::uint64_t probe_position() const { return scheduler_.first_unacked(); }
    std::int64_t window() const;
    std::int64_t room(double now);
    /// Null unless the round of that number is in flight.
    RoundState *in_flight(std::uint32_t epoch) const;
    ReceiveOutcome take_result(RoundState &round, const Header &header, std::span<const std::byte> datagram,
                               double now);
    ReceiveOutcome take_failed_result(RoundState &round, const Header &header);
    bool may_have_result(std::uint64_t position);
    ReceiveOutcome take_pending(RoundState *round, const Header &header, double now);
    ReceiveOutcome take_conflict(const RoundState *own, const Header &header);

    std::shared_ptr<Link> link_;
    std::int64_t max_window_;
    std::uint32_t next_epoch_;
    SlotScheduler scheduler_;
    LossDetector recovery_;
    RetransmitBuffer retransmit_buffer_;
    std::vector<std::uint32_t> bitmaps_;  // of the result being received
    Outbox outbox_;
    Outbox final_outbox_;
};

}  // namespace lanesum::transport
