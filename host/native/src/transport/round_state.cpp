// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/round_state.hpp"

#include <set>

#include "lanes/lanes.hpp"

namespace lanesum::transport {
namespace {

Turns turns_of(std::size_t words, bool scattered, bool gathered, std::size_t packet_words, std::uint32_t workers) {
    const std::size_t shard_words = scattered ? words / workers : words;
    const std::size_t chunks = std::max<std::size_t>(1, (shard_words + packet_words - 1) / packet_words);
    return {scattered || gathered ? workers : 1, static_cast<std::uint32_t>(chunks)};
}

}  // namespace

RoundState::RoundState(std::shared_ptr<Link> link, LaneOp op, std::span<const std::uint32_t> words, std::uint32_t epoch,
                       std::uint64_t begin, bool opening, bool scattered, bool gathered)
    : link_(std::move(link)),
      certification_(link_->certification),
      data_words_(certification_ ? certification_->data_words(op) : link_->ticket.accumulator_words),
      turns_(turns_of(words.size(), scattered, gathered, uplink_words(op, data_words_), link_->ticket.workers)),
      result_shards_(gathered ? turns_.shards : 1),
      chunks_(turns_.shards * turns_.chunks),
      epoch_(epoch),
      begin_(begin),
      size_{op, words.size() * result_shards_, scattered, gathered},
      wire_size_(static_cast<std::uint32_t>(size_.words) | (certified() ? CERTIFIED : 0u) |
                 (scattered ? SCATTERED : 0u) | (gathered ? GATHERED : 0u)),
      bypasses_(opening || gathered),
      result_words_(result_words(op, size_.words / turns_.shards)),
      racks_(link_->membership.members().size()),
      result_(memory::allocate_words(result_shards_ * result_stride())),
      contributors_(chunks_ * racks_),
      done_(chunks_),
      parts_(link_->shares->count()),
      released_(chunks_) {
    const JobTicket &ticket = link_->ticket;
    for (std::uint32_t share = 0; share < parts_.size(); ++share) {
        parts_[share].left = link_->shares->num_positions(share, begin, chunks_);
        parts_[share].prefix_slot = static_cast<std::uint32_t>(begin % ticket.slots);
        done_chunks(share);  // a share may have no chunk, or not the first ones
    }
    Header header;
    header.job = ticket.job;
    header.tag = ticket.tag;
    header.epoch = epoch;
    header.op = static_cast<std::uint32_t>(op);
    header.spare = opening ? OPENING : 0;
    header.workers = std::uint32_t{1} << ticket.place().bit;
    header.racks = wire_size_;
    header.fan_in_workers = ticket.worker & 0xFF;
    batch_ = std::make_shared<ChunkBatch>(header, words, chunks_, uplink_words(op, ticket.accumulator_words),
                                          uplink_words(op, data_words_), turns_,
                                          gathered ? std::optional(ticket.worker) : std::nullopt, begin, ticket.slots,
                                          certification_);
    if (gathered) {
        std::ranges::copy(words, result_.get() + ticket.worker * result_stride());
    }
}

std::uint32_t RoundState::done_chunks() {
    std::uint32_t done = chunks_;
    for (std::uint32_t share = 0; share < parts_.size(); ++share) {
        done = std::min(done, done_chunks(share));
    }
    return done;
}

std::uint32_t RoundState::done_chunks(std::uint32_t share) {
    const SlotShares &shares = *link_->shares;
    Part &part = parts_[share];
    const std::uint32_t before = part.done_prefix.load(std::memory_order_relaxed);
    std::uint32_t prefix = before;
    if (parts_.size() == 1) {
        while (prefix < chunks_ && done_[prefix]) {
            ++prefix;
        }
    } else {  // other threads write done_ of other shares
        while (prefix < chunks_ && (shares.of_slot(part.prefix_slot) != share || done_[prefix])) {
            ++prefix;
            part.prefix_slot = part.prefix_slot + 1 == link_->ticket.slots ? 0 : part.prefix_slot + 1;
        }
    }
    if (prefix != before) {
        part.done_prefix = prefix;
    }
    return prefix;
}

bool RoundState::target_reached() const {
    return target_ != NO_TARGET && std::ranges::all_of(parts_, [&](const Part &part) {
               return part.done_prefix >= std::min(target_, chunks_);
           });
}

std::uint32_t RoundState::left() const {
    std::uint32_t left = 0;
    for (const Part &part : parts_) {
        left += part.left;
    }
    return left;
}

bool RoundState::answered() const {
    return left() < chunks_ || std::ranges::any_of(parts_, [](const Part &part) { return !part.arrived.empty(); });
}

RoundState::FailedResults RoundState::failed_results() const {
    FailedResults all;
    for (const Part &part : parts_) {
        all.insert(part.failed_results.begin(), part.failed_results.end());
    }
    return all;
}

std::pair<std::uint32_t, std::uint32_t> RoundState::count_failed(std::uint32_t share, const Header &header) {
    auto &counts = parts_[share].failed_results[header.chunk];
    ++(header.flags & FLAG_BYPASS ? counts.second : counts.first);
    return counts;
}

bool RoundState::server_failed(std::uint32_t share, std::uint32_t chunk) const {
    const auto &failed = parts_[share].failed_results;
    const auto found = failed.find(chunk);
    return found != failed.end() && found->second.second != 0;
}

std::uint64_t RoundState::refused_results() const {
    std::uint64_t refused = 0;
    for (const Part &part : parts_) {
        refused += part.refused_results;
    }
    return refused;
}

bool RoundState::load_result(std::uint32_t chunk, std::span<const std::byte> datagram,
                             std::span<const std::uint32_t> bitmaps) {
    if (!needs_words(chunk)) {
        return true;
    }
    const auto [shard, index] = turns_.place(chunk);
    const std::size_t begin = shard % result_shards_ * result_stride() + index * data_words_;
    const std::span<std::uint32_t> data{result_.get() + begin, data_words_};
    const std::byte *const payload = datagram.data() + HEADER_BYTES;
    load_words(data, payload);
    if (certification_ == nullptr) {
        return true;
    }
    // The words of a gathered chunk are of one worker.
    std::vector<std::uint32_t> only;
    if (result_shards_ > 1) {
        only = link_->membership.only(shard);
        bitmaps = only;
    }
    return certification_->is_right(size_.op, epoch_, chunk, data, payload + data_words_ * WORD_BYTES, bitmaps);
}

void RoundState::store_result(std::uint32_t share, std::uint32_t chunk, std::span<const std::uint32_t> bitmaps) {
    Part &part = parts_[share];
    std::ranges::copy(bitmaps, contributors_.begin() + static_cast<std::ptrdiff_t>(chunk * racks_));
    done_[chunk] = 1;
    --part.left;
    if (const auto at = part.arrived.empty() ? part.report_of.end() : part.report_of.find(chunk);
        at != part.report_of.end()) {
        part.arrived.erase(at->second);
        part.report_of.erase(at);
    }
}

void RoundState::note_pending(std::uint32_t share, const Header &pending) {
    Part &part = parts_[share];
    const auto [at, first] = part.report_of.try_emplace(pending.chunk);
    if (first) {
        part.arrived.emplace_back(pending.chunk, Arrived{});
    } else {
        part.arrived.splice(part.arrived.end(), part.arrived, at->second);
    }
    at->second = std::prev(part.arrived.end());
    at->second->second = link_->membership.update_arrived(at->second->second, pending);
}

std::vector<std::uint32_t> RoundState::missing_workers() const {
    std::set<std::uint32_t> missing;  // in the latest report of each share
    for (const Part &part : parts_) {
        if (!part.arrived.empty()) {
            const auto of_share = link_->membership.missing(part.arrived.back().second);
            missing.insert(of_share.begin(), of_share.end());
        }
    }
    return {missing.begin(), missing.end()};
}

}  // namespace lanesum::transport
