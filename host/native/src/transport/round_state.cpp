// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/round_state.hpp"

#include "lanes/lanes.hpp"

namespace lanesum::transport {
namespace {

std::uint32_t chunks_of(std::size_t words, std::size_t packet_words) {
    return static_cast<std::uint32_t>(std::max<std::size_t>(1, (words + packet_words - 1) / packet_words));
}

}  // namespace

RoundState::RoundState(std::shared_ptr<Link> link, LaneOp op, std::span<const std::uint32_t> words, std::uint32_t epoch,
                       std::uint64_t begin, bool opening, bool scattered)
    : link_(std::move(link)),
      certification_(link_->certification),
      data_words_(certification_ ? certification_->data_words(op) : link_->ticket.accumulator_words),
      shards_(scattered ? link_->ticket.workers : 1),
      own_shard_(scattered ? link_->ticket.worker : 0),
      chunks_(shards_ * chunks_of(words.size() / shards_, uplink_words(op, data_words_))),
      epoch_(epoch),
      begin_(begin),
      size_{op, words.size(), scattered},
      opening_(opening),
      result_words_(result_words(op, words.size() / shards_)),
      racks_(link_->membership.members().size()),
      result_(memory::allocate_words(chunks_ / shards_ * data_words_)),
      contributors_(chunks_ * racks_),
      done_(chunks_),
      left_(chunks_),
      released_(chunks_) {
    const JobTicket &ticket = link_->ticket;
    Header header;
    header.job = ticket.job;
    header.tag = ticket.tag;
    header.epoch = epoch;
    header.op = static_cast<std::uint32_t>(op);
    header.spare = opening ? OPENING : 0;
    header.workers = std::uint32_t{1} << ticket.place().bit;
    header.racks =
        static_cast<std::uint32_t>(words.size()) | (certified() ? CERTIFIED : 0u) | (scattered ? SCATTERED : 0u);
    header.fan_in_workers = ticket.worker & 0xFF;
    batch_ = std::make_shared<ChunkBatch>(header, words, chunks_, uplink_words(op, ticket.accumulator_words),
                                          uplink_words(op, data_words_), shards_, begin, ticket.slots, certification_);
}

std::uint32_t RoundState::done_chunks() {
    while (done_prefix_ < chunks_ && done_[done_prefix_]) {
        ++done_prefix_;
    }
    return done_prefix_;
}

bool RoundState::load_result(std::uint32_t chunk, std::span<const std::byte> datagram,
                             std::span<const std::uint32_t> bitmaps) {
    if (!is_owned(chunk)) {
        return true;
    }
    const std::span<std::uint32_t> data{result_.get() + chunk / shards_ * data_words_, data_words_};
    const std::byte *const payload = datagram.data() + HEADER_BYTES;
    load_words(data, payload);
    return certification_ == nullptr ||
           certification_->is_right(size_.op, epoch_, chunk, data, payload + data_words_ * WORD_BYTES, bitmaps);
}

void RoundState::store_result(std::uint32_t chunk, std::span<const std::uint32_t> bitmaps) {
    std::ranges::copy(bitmaps, contributors_.begin() + static_cast<std::ptrdiff_t>(chunk * racks_));
    done_[chunk] = 1;
    --left_;
    if (const auto at = arrived_.empty() ? report_of_.end() : report_of_.find(chunk); at != report_of_.end()) {
        arrived_.erase(at->second);
        report_of_.erase(at);
    }
}

void RoundState::note_pending(const Header &pending) {
    const auto [at, first] = report_of_.try_emplace(pending.chunk);
    if (first) {
        arrived_.emplace_back(pending.chunk, Arrived{});
    } else {
        arrived_.splice(arrived_.end(), arrived_, at->second);
    }
    at->second = std::prev(arrived_.end());
    at->second->second = link_->membership.update_arrived(at->second->second, pending);
}

std::vector<std::uint32_t> RoundState::missing_workers() const {
    return arrived_.empty() ? std::vector<std::uint32_t>{} : link_->membership.missing(arrived_.back().second);
}

}  // namespace lanesum::transport
