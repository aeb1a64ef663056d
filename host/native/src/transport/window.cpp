// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/window.hpp"

#include "lanes/lanes.hpp"

namespace lanesum::transport {
namespace {

std::uint32_t chunks_of(std::size_t words, std::size_t packet_words) {
    return static_cast<std::uint32_t>(std::max<std::size_t>(1, (words + packet_words - 1) / packet_words));
}

}  // namespace

RoundWindow::RoundWindow(std::shared_ptr<Link> link, LaneOp op, std::span<const std::uint32_t> words,
                         std::uint32_t epoch, std::uint64_t begin)
    : link_(std::move(link)),
      chunks_(chunks_of(words.size(), uplink_words(op, link_->ticket.accumulator_words))),
      epoch_(epoch),
      begin_(begin),
      size_{op, words.size()},
      result_words_(result_words(op, words.size())),
      accumulator_words_(link_->ticket.accumulator_words),
      racks_(link_->membership.everybody().size()),
      result_(memory::allocate_words(chunks_ * accumulator_words_)),
      contributors_(chunks_ * racks_),
      done_(chunks_),
      left_(chunks_),
      ready_(chunks_) {
    const JobTicket &ticket = link_->ticket;
    Header header;
    header.job = ticket.job;
    header.tag = ticket.tag;
    header.epoch = epoch;
    header.op = static_cast<std::uint32_t>(op);
    header.workers = std::uint32_t{1} << ticket.place().bit;
    header.racks = static_cast<std::uint32_t>(words.size());
    header.fan_in_workers = ticket.worker & 0xFF;
    batch_ = std::make_shared<ChunkBatch>(header, words, chunks_, uplink_words(op, ticket.accumulator_words), begin,
                                          ticket.slots);
}

std::uint32_t RoundWindow::done_chunks() {
    while (low_ < chunks_ && done_[low_]) {
        ++low_;
    }
    return low_;
}

void RoundWindow::keep(std::uint32_t chunk, std::span<const std::byte> datagram,
                       std::span<const std::uint32_t> bitmaps) {
    load_words({result_.get() + chunk * accumulator_words_, accumulator_words_}, datagram.data() + HEADER_BYTES);
    std::ranges::copy(bitmaps, contributors_.begin() + static_cast<std::ptrdiff_t>(chunk * racks_));
    done_[chunk] = 1;
    --left_;
    if (const auto at = arrived_.empty() ? heard_of_.end() : heard_of_.find(chunk); at != heard_of_.end()) {
        arrived_.erase(at->second);
        heard_of_.erase(at);
    }
}

void RoundWindow::learn(const Header &pending) {
    const auto [at, first] = heard_of_.try_emplace(pending.chunk);
    if (first) {
        arrived_.emplace_back(pending.chunk, Arrived{});
    } else {
        arrived_.splice(arrived_.end(), arrived_, at->second);
    }
    at->second = std::prev(arrived_.end());
    at->second->second = link_->membership.learn(pending, at->second->second);
}

std::vector<std::uint32_t> RoundWindow::missing_workers() const {
    return arrived_.empty() ? std::vector<std::uint32_t>{} : link_->membership.missing(arrived_.back().second);
}

void RoundWindow::retire() {
    batch_.reset();
}

}  // namespace lanesum::transport
