// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// The rounds of a session in one share of the slots: loss detection, window and retransmit buffer of its own, as in
// lanesum/transport/round_sequence.py, where one share has all slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
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

/// For one thread at a time, except ``link().stats``. ``begin`` and ``end_first`` need that no other share is in use.
class SlotShare {
public:
    /// @param max_window packets in flight, at most.
    SlotShare(std::shared_ptr<Link> link, std::int64_t max_window);

    void begin(const std::shared_ptr<RoundState> &round);
    /// Ends the first round in flight.
    void end_first();
    const std::deque<std::shared_ptr<RoundState>> &rounds() const { return scheduler_.rounds(); }
    /// Position at which the next round begins.
    std::uint64_t end() const { return scheduler_.end(); }

    /// See ``RoundSequence``.
    std::span<const Datagram> due(double now);
    std::optional<double> next_timeout(double now);
    ReceiveOutcome receive(std::span<const std::byte> datagram, double now);
    std::span<const Datagram> final_datagrams() const { return final_outbox_.datagrams(); }
    /// See ``LossDetector``.
    bool results_in_order() const { return recovery_.results_in_order(); }
    /// Updates the ``done_chunks`` of this share for ``RoundState::target_reached``.
    void update_done();

    Link &link() const { return *link_; }
    const std::shared_ptr<Link> &shared_link() const { return link_; }

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
    SlotScheduler scheduler_;
    LossDetector recovery_;
    RetransmitBuffer retransmit_buffer_;
    std::vector<std::uint32_t> bitmaps_;  // of the result being received
    Outbox outbox_;
    Outbox final_outbox_;
};

}  // namespace lanesum::transport
