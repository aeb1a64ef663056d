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
                       std::uint64_t begin, bool opening)
    : link_(std::move(link)),
      chunks_(chunks_of(words.size(), uplink_words(op, link_->ticket.accumulator_words))),
      epoch_(epoch),
      begin_(begin),
      size_{op, words.size()},
      opening_(opening),
      result_words_(result_words(op, words.size())),
      accumulator_words_(link_->ticket.accumulator_words),
      racks_(link_->membership.members().size()),
      result_(memory::allocate_words(chunks_ * accumulator_words_)),
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
    header.racks = static_cast<std::uint32_t>(words.size());
    header.fan_in_workers = ticket.worker & 0xFF;
    batch_ = std::make_shared<ChunkBatch>(header, words, chunks_, uplink_words(op, ticket.accumulator_words), begin,
                                          ticket.slots);
}

std::uint32_t RoundState::done_chunks() {
    while (done_prefix_ < chunks_ && done_[done_prefix_]) {
        ++done_prefix_;
    }
    return done_prefix_;
}

void RoundState::store_result(std::uint32_t chunk, std::span<const std::byte> datagram,
                              std::span<const std::uint32_t> bitmaps) {
    load_words({result_.get() + chunk * accumulator_words_, accumulator_words_}, datagram.data() + HEADER_BYTES);
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
