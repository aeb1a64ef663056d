// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Loss detection for the chunks in flight, as in lanesum/transport/recovery.py.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "protocol/header.hpp"
#include "transport/link.hpp"
#include "transport/round_state.hpp"

namespace lanesum::transport {

/// A chunk in flight; linked with the others of its path in the order of first transmissions.
struct SentChunk {
    RoundState *round;
    std::uint64_t position;
    double first_sent_at;
    std::int64_t first_sequence;  // on its path, as ``sequence``
    std::int64_t first_on_link;
    double sent_at;
    std::int64_t sequence;
    std::uint32_t chunk;
    std::uint32_t retransmissions;
    std::uint32_t tries;
    std::uint32_t previous, next;
    bool in_flight = false;
    bool bypass;
    bool bypassed;
    bool requested;
    bool requested_bypass;
    bool probe;
    bool unanswered;
    bool arrived;
    bool lost;

    bool try_again(std::uint32_t patience) {
        ++tries;
        return bypass || (tries >= patience && tries % 2 == 0);
    }
};

struct Retransmission {
    SentChunk *sent;
    bool bypass;
    bool requested;
};

class LossDetector {
public:
    explicit LossDetector(std::shared_ptr<Link> link);

    std::int64_t in_flight() const { return in_flight_; }
    /// Null unless the position is in flight.
    SentChunk *sent(std::uint64_t position) {
        SentChunk &found = chunks_[slot(position)];
        return found.in_flight && found.position == position ? &found : nullptr;
    }

    void on_packet_sent(std::uint64_t position, RoundState &round, double now, bool bypass);
    void on_retransmitted(SentChunk &sent, double now, bool bypass);
    /// @param marked the result reports a full queue.
    /// @param retransmitted the result has a retransmission in it, or answers one.
    void on_ack_received(std::uint64_t position, double now, bool marked, bool retransmitted);
    void on_result_failed(std::uint64_t position);
    void on_pending_received(std::uint64_t position, const Header &pending, double now);
    /// Valid until the next call.
    std::span<const Retransmission> detect_loss(double now, std::uint64_t probe_position, bool more_to_send);
    bool has_requests() const;
    /// No thread of a server was found to reorder results.
    bool results_in_order() const {
        return std::ranges::all_of(paths_, [](const PathRecovery &recovery) { return recovery.in_order; });
    }
    /// @param probe_position nothing if it may not be sent yet.
    double time_left(double now, std::optional<std::uint64_t> probe_position, bool more_to_send);

private:
    static constexpr std::uint32_t NONE = std::numeric_limits<std::uint32_t>::max();

    struct PathRecovery {
        ServerPath *path;
        double min_delay_s;  // of loss_time_left
        std::uint32_t first = NONE, last = NONE;  // chunks in flight, in the order of first transmissions
        std::int64_t largest_acked = -1;
        std::vector<std::int64_t> acked_of_share = std::vector<std::int64_t>(SLOT_SHARES, -1);
        bool in_order = true;
        std::uint32_t pto_backoff = 1;
        double last_ack_at = -std::numeric_limits<double>::infinity();
        std::int64_t probe_sequence = 0;
        std::uint32_t probe_credit = 0;
        std::uint32_t min_pto_factor = 1;
        std::uint64_t results_since_loss = 0;

        std::int64_t acked_after(std::uint32_t share) const { return in_order ? largest_acked : acked_of_share[share]; }
        double loss_time_left(const SentChunk &sent, double since, double now) const;
        double probe_time_left(const SentChunk &sent, double now) const;
        double request_interval_s() const;
    };

    std::uint32_t slot(std::uint64_t position) const { return static_cast<std::uint32_t>(position % slots_); }
    std::uint32_t share(std::uint64_t position) const {
        const std::uint32_t run = slot(position) / (SLOT_RUN * static_cast<std::uint32_t>(paths_.size()));
        return (run + run / SLOT_SKEW) % SLOT_SHARES;
    }
    PathRecovery &path(std::uint64_t position) {
        return paths_.size() == 1 ? paths_.front() : paths_[slot(position) % paths_.size()];
    }
    SentChunk &append(std::uint64_t position);
    void remove(SentChunk &sent);
    void request(SentChunk &sent, bool bypass);
    void retransmit(SentChunk &sent, bool bypass, bool requested);
    void probe(SentChunk &sent);
    void on_probe_timeout(PathRecovery &recovery);
    void take_probes(PathRecovery &recovery);
    template <typename Visit>
    void each_reordered(double now, bool more_to_send, Visit visit);

    std::shared_ptr<Link> link_;
    std::uint32_t slots_;
    std::vector<SentChunk> chunks_;  // by slot: no two positions of a slot are in flight
    std::vector<PathRecovery> paths_;  // by number of the server
    std::int64_t largest_acked_on_link_ = -1;
    std::int64_t in_flight_ = 0;
    std::vector<std::uint64_t> requests_;  // positions in the order of requests; some may have their result since
    std::size_t num_requests_ = 0;         // without those
    std::vector<Retransmission> lost_;
};

}  // namespace lanesum::transport
