// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/recovery.hpp"

#include <algorithm>
#include <utility>

#include "transport/constants.hpp"

namespace lanesum::transport {
namespace {

// Results of a share may wait for two threads, which take them in any order: RFC 9002 has this granularity for timers.
constexpr double MIN_SHARED_LOSS_DELAY_S = 1e-3;

}  // namespace

LossDetector::LossDetector(std::shared_ptr<Link> link)
    : link_(std::move(link)), slots_(link_->ticket.slots), chunks_(slots_) {
    paths_.reserve(link_->paths.size());
    for (ServerPath &path : link_->paths) {
        paths_.push_back({&path, link_->shares->count() > 1 ? MIN_SHARED_LOSS_DELAY_S : 0.0});
    }
}

// Chunks in flight, and requests for them.

SentChunk &LossDetector::append(std::uint64_t position) {
    const std::uint32_t index = slot(position);
    SentChunk &sent = chunks_[index];
    PathRecovery &recovery = path(position);
    sent.previous = recovery.last;
    sent.next = NONE;
    (recovery.last == NONE ? recovery.first : chunks_[recovery.last].next) = index;
    recovery.last = index;
    sent.position = position;
    sent.in_flight = true;
    ++in_flight_;
    return sent;
}

void LossDetector::remove(SentChunk &sent) {
    PathRecovery &recovery = path(sent.position);
    (sent.previous == NONE ? recovery.first : chunks_[sent.previous].next) = sent.next;
    (sent.next == NONE ? recovery.last : chunks_[sent.next].previous) = sent.previous;
    sent.in_flight = false;
    --in_flight_;
}

void LossDetector::request(SentChunk &sent, bool bypass) {
    if (!sent.requested) {
        sent.requested = true;
        requests_.push_back(sent.position);
        ++num_requests_;
    }
    sent.requested_bypass = bypass || sent.round->bypasses();
}

// Events.

void LossDetector::on_packet_sent(std::uint64_t position, RoundState &round, double now, bool bypass) {
    SentChunk &sent = append(position);
    sent.round = &round;
    sent.chunk = static_cast<std::uint32_t>(position - round.begin());
    sent.first_sent_at = sent.sent_at = now;
    sent.first_sequence = sent.sequence = path(position).path->sequence++;
    sent.first_on_link = link_->sequence++;
    sent.bypass = sent.bypassed = bypass;
    sent.retransmissions = sent.tries = 0;
    sent.requested = sent.lost = sent.probe = sent.unanswered = sent.arrived = false;
}

void LossDetector::on_retransmitted(SentChunk &sent, double now, bool bypass) {
    sent.lost = false;
    sent.sent_at = now;
    sent.sequence = path(sent.position).path->sequence++;
    sent.bypassed = bypass;
    ++sent.retransmissions;
    link_->stats.peer_retransmissions += sent.arrived;
    sent.unanswered = !sent.arrived;
    ++link_->sequence;
}

void LossDetector::on_ack_received(std::uint64_t position, double now, bool marked, bool retransmitted) {
    Link &link = *link_;
    PathRecovery &recovery = path(position);
    recovery.pto_backoff = 1;
    recovery.last_ack_at = now;
    SentChunk *sent = this->sent(position);
    if (sent == nullptr) {
        return;  // a quorum completed it without this worker
    }
    if (sent->requested) {
        sent->requested = false;
        --num_requests_;
    }
    remove(*sent);
    std::int64_t &acked_of_share = recovery.acked_of_share[share(position)];
    acked_of_share = std::max(acked_of_share, sent->first_sequence);
    // The result does not tell which transmission it acknowledges: Karn's rule, see recovery.py.
    const bool once = sent->sequence == sent->first_sequence;
    link.stats.reordered_results += once && sent->first_sequence < recovery.largest_acked;
    // See recovery.py.
    recovery.in_order &= once || retransmitted || sent->first_sequence + REORDERING_THRESHOLD >= recovery.largest_acked;
    ++recovery.results_since_loss;
    if (retransmitted) {
        recovery.min_pto_factor = 1;
        recovery.results_since_loss = 0;
    } else if (!once && recovery.results_since_loss > RESULTS_WITHOUT_LOSS) {
        recovery.min_pto_factor = std::min(2 * recovery.min_pto_factor, MAX_MIN_PTO_FACTOR);
    }
    recovery.largest_acked = std::max(recovery.largest_acked, sent->first_sequence);
    largest_acked_on_link_ = std::max(largest_acked_on_link_, sent->first_on_link);
    link.stats.latency.record(now - sent->first_sent_at);
    if (once) {
        recovery.path->rtt.sample(now - sent->sent_at);
        if (link.pacer) {
            link.pacer->sample(now - sent->sent_at);
        }
    } else if (sent->probe && retransmitted && now - sent->sent_at < recovery.path->rtt.loss_delay_s()) {
        recovery.probe_credit += PROBES_PER_LOST_PROBE;
    }
    link.congestion->on_packet_acked(sent->first_on_link, link.sequence, marked);
}

void LossDetector::on_result_failed(std::uint64_t position) {
    if (SentChunk *sent = this->sent(position); sent != nullptr) {
        sent->bypass = true;
        request(*sent, true);
    }
}

void LossDetector::on_pending_received(std::uint64_t position, const Header &pending, double now) {
    SentChunk *sent = this->sent(position);
    if (sent == nullptr) {
        return;  // not sent yet: its turn comes
    }
    sent->round->note_pending(link_->share, pending);
    sent->probe = false;
    // The path is alive and another worker is late: probe on, at a moderate pace.
    PathRecovery &recovery = path(position);
    recovery.pto_backoff = std::min(recovery.pto_backoff, MAX_PENDING_BACKOFF);
    const bool bypass = pending.flags & FLAG_BYPASS;
    const bool elsewhere = sent->bypassed != bypass;
    const bool late = now - sent->sent_at >= recovery.request_interval_s();
    if (link_->membership.has_own(pending)) {
        link_->stats.peer_retransmissions += sent->unanswered;
        sent->unanswered = false;
        sent->arrived = true;
        return;
    }
    sent->arrived = false;
    if (!(late || elsewhere)) {
        return;
    }
    request(*sent, bypass);
    if (elsewhere && now - sent->first_sent_at >= recovery.path->rtt.probe_timeout_s()) {
        // The other workers' contributions of all chunks in flight took another way: see recovery.py.
        for (const PathRecovery &each : paths_) {
            for (std::uint32_t index = each.first; index != NONE; index = chunks_[index].next) {
                if (chunks_[index].bypassed != bypass && !chunks_[index].requested &&
                    !chunks_[index].round->bypasses()) {
                    request(chunks_[index], bypass);
                }
            }
        }
    }
}

// Losses.

std::span<const Retransmission> LossDetector::detect_loss(double now, std::uint64_t probe_position, bool more_to_send) {
    lost_.clear();
    if (num_requests_ > 0) {
        for (const std::uint64_t position : requests_) {
            SentChunk *sent = this->sent(position);
            if (sent != nullptr && sent->requested) {
                sent->requested = false;
                retransmit(*sent, sent->requested_bypass, true);
            }
        }
    }
    requests_.clear();
    num_requests_ = 0;
    each_reordered(now, more_to_send, [&](const PathRecovery &recovery, SentChunk &sent, double left_s) {
        const std::int64_t acked = recovery.acked_after(share(sent.position));
        if (!sent.lost && (sent.sequence + REORDERING_THRESHOLD < acked || left_s <= 0)) {
            if (recovery.path->rtt.queued()) {
                link_->congestion->on_packet_lost(sent.first_on_link, link_->sequence);
            }
            sent.probe = false;
            retransmit(sent, sent.try_again(BYPASS_AFTER_LOSSES), false);
        }
    });
    SentChunk *timed = sent(probe_position);
    if (timed != nullptr && !timed->lost && path(probe_position).probe_time_left(*timed, now) <= 0) {
        on_probe_timeout(path(probe_position));
        probe(*timed);
    }
    for (PathRecovery &recovery : paths_) {
        take_probes(recovery);
    }
    return lost_;
}

void LossDetector::retransmit(SentChunk &sent, bool bypass, bool requested) {
    sent.lost = true;
    lost_.push_back({&sent, bypass, requested});
}

void LossDetector::probe(SentChunk &sent) {
    sent.probe = true;
    retransmit(sent, sent.try_again(BYPASS_AFTER_PROBES), false);
}

void LossDetector::on_probe_timeout(PathRecovery &recovery) {
    recovery.pto_backoff = std::min(2 * recovery.pto_backoff, 1U << MAX_BACKOFF_EXPONENT);
    recovery.probe_sequence = recovery.path->sequence;
    ++link_->unanswered_probes;
    if (link_->unanswered_probes >= PERSISTENT_CONGESTION_TIMEOUTS) {
        link_->congestion->on_persistent_congestion(link_->sequence, in_flight_);
    }
}

void LossDetector::take_probes(PathRecovery &recovery) {
    for (std::uint32_t index = recovery.first; recovery.probe_credit != 0 && index != NONE;
         index = chunks_[index].next) {
        SentChunk &sent = chunks_[index];
        if (sent.sequence < recovery.probe_sequence && !sent.lost) {
            --recovery.probe_credit;
            probe(sent);
        }
    }
    recovery.probe_credit = 0;
}

template <typename Visit>
void LossDetector::each_reordered(double now, bool more_to_send, Visit visit) {
    const std::int64_t threshold = more_to_send ? REORDERING_THRESHOLD : 0;
    for (const PathRecovery &recovery : paths_) {
        bool reordered = false;
        for (std::uint32_t index = recovery.first;
             index != NONE && chunks_[index].first_sequence + threshold < recovery.largest_acked;
             index = chunks_[index].next) {
            SentChunk &sent = chunks_[index];
            if (sent.first_sequence + threshold < recovery.acked_after(share(sent.position))) {
                reordered = true;
                visit(recovery, sent, recovery.loss_time_left(sent, sent.sent_at, now));
            }
        }
        // Reordered on the link only: see recovery.py.
        if (recovery.first != NONE && !reordered &&
            chunks_[recovery.first].first_on_link + threshold < largest_acked_on_link_) {
            SentChunk &sent = chunks_[recovery.first];
            visit(recovery, sent, recovery.loss_time_left(sent, std::max(sent.sent_at, recovery.last_ack_at), now));
        }
    }
}

double LossDetector::PathRecovery::loss_time_left(const SentChunk &sent, double since, double now) const {
    const double first_s = std::max(path->rtt.loss_delay_s(), min_delay_s);
    const double delay_s = first_s * (1 << std::min(sent.retransmissions, MAX_BACKOFF_EXPONENT));
    return since + std::min(delay_s, MAX_PTO_S) - now;
}

double LossDetector::PathRecovery::request_interval_s() const {
    return min_pto_factor == 1 ? path->min_request_interval_s() : MIN_PTO_S * min_pto_factor;
}

double LossDetector::PathRecovery::probe_time_left(const SentChunk &sent, double now) const {
    const double since = std::max(sent.sent_at, last_ack_at);
    const double timeout_s = std::max(path->rtt.probe_timeout_s(), MIN_PTO_S * min_pto_factor);
    return since + std::min(timeout_s * pto_backoff, MAX_PTO_S) - now;
}

bool LossDetector::has_requests() const {
    return num_requests_ > 0 ||
           std::ranges::any_of(paths_, [](const PathRecovery &recovery) { return recovery.probe_credit != 0; });
}

double LossDetector::time_left(double now, std::optional<std::uint64_t> probe_position, bool more_to_send) {
    const SentChunk *timed = probe_position ? sent(*probe_position) : nullptr;
    if (probe_position && timed == nullptr) {
        return 0.0;
    }
    double left_s = std::numeric_limits<double>::infinity();
    each_reordered(now, more_to_send, [&](const PathRecovery &, const SentChunk &, double reordered_s) {
        left_s = std::min(left_s, reordered_s);
    });
    left_s = left_s == std::numeric_limits<double>::infinity() ? MAX_PTO_S : left_s;
    return timed == nullptr ? left_s : std::min(left_s, path(*probe_position).probe_time_left(*timed, now));
}

}  // namespace lanesum::transport
