// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// The rounds of a session, in order and a few at a time, as in lanesum/transport/round_sequence.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "transport/constants.hpp"
#include "transport/link.hpp"
#include "transport/outbox.hpp"
#include "transport/round_state.hpp"
#include "transport/slot_share.hpp"

namespace lanesum::transport {

/// Rounds in one or more shares of the slots. For one thread at a time, except ``stats``, ``target_reached`` and
/// ``share_of``. Between ``start`` or ``finish`` and the next one, threads may use one ``share`` each.
class RoundSequence {
public:
    /// @param window congestion window, at most (never more than the job's slots), or one packet for each
    ///        share.
    /// @param congestion see ``congestion_control``.
    /// @param shares 1 for a job with a quorum, whose chunks complete in step.
    /// @param run_slots see ``SlotShares``; not SLOT_RUN only in tests.
    /// @throws std::invalid_argument if ``congestion``, ``shares`` or ``run_slots`` is not valid.
    RoundSequence(const JobTicket &ticket, std::int64_t window, std::string_view congestion, bool pacing = false,
                  std::uint32_t shares = 1, std::uint32_t run_slots = SLOT_RUN);
    RoundSequence(const RoundSequence &) = delete;
    RoundSequence &operator=(const RoundSequence &) = delete;

    bool can_start() const { return rounds().size() < (link().ticket.quorum != 0 ? 1 : MAX_ROUNDS_IN_FLIGHT); }

    /// Starts the next round; only when ``can_start``. ``words``, in the machine's byte order, have to stay in place,
    /// unchanged, until ``finish`` of this round, or until no method of this object is called any more.
    /// @param opening the round opens the session; its packets bypass the switches.
    /// @param scattered each worker gets the sum of its shard; the words are equal shards of whole groups.
    /// @param gathered each worker gets the shards of all; the words are the shard of this one.
    std::shared_ptr<RoundState> start(LaneOp op, std::span<const std::uint32_t> words, bool opening = false,
                                      bool scattered = false, bool gathered = false);

    /// Sets the number of the next round; only while no round is in flight. Of ``stats``, only foreign packets remain.
    void continue_at(std::uint32_t epoch);

    /// Counts and retires a complete round, whose result the caller has.
    void finish(RoundState &round);

    /// Returns the datagrams to send at ``now``, in or between rounds; valid until the next call of ``due``.
    std::span<const Datagram> due(double now);

    /// Returns the seconds until ``due`` may have something to send; nothing if only a datagram can change that.
    std::optional<double> next_timeout(double now);

    /// Takes one datagram, in or between rounds.
    ReceiveOutcome receive(std::span<const std::byte> datagram, double now);

    /// Returns the datagrams to send after a conflict; valid until the next one.
    std::span<const Datagram> final_datagrams() const { return shares_[last_receiver_]->final_datagrams(); }

    bool answered() const;
    std::vector<std::uint32_t> missing_workers() const;

    std::uint32_t shares() const { return static_cast<std::uint32_t>(shares_.size()); }
    SlotShare &share(std::uint32_t number) { return *shares_[number]; }
    /// Returns the share that takes a datagram.
    std::uint32_t share_of(std::span<const std::byte> datagram) const;
    /// Chunks without a result of all rounds in flight.
    std::uint64_t chunks_left() const;

    /// A round has reached its target (``RoundState::set_target``).
    bool target_reached() const;
    std::uint32_t epoch() const;
    std::uint64_t position() const;
    TransportStats::Totals stats() const;
    /// Link of the first share.
    Link &link() const { return shares_.front()->link(); }

private:
    const std::deque<std::shared_ptr<RoundState>> &rounds() const { return shares_.front()->rounds(); }

    std::uint32_t next_epoch_;
    std::vector<std::unique_ptr<SlotShare>> shares_;
    std::uint32_t last_receiver_ = 0;  // share of the last datagram
    std::vector<Datagram> datagrams_;  // of all shares
};

}  // namespace lanesum::transport
