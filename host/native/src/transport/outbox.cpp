// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/outbox.hpp"

namespace lanesum::transport {

std::span<const Datagram> Outbox::lay_out() {
    std::size_t bytes = 0;
    for (const Queued &one : queued_) {
        bytes += one.batch->packet_bytes(one.chunk);
    }
    if (buffer_.size() < bytes) {
        buffer_.resize(bytes);
    }
    datagrams_.clear();
    std::byte *at = buffer_.data();
    for (const Queued &one : queued_) {
        one.batch->lay_out(one.chunk, one.flags, at);
        datagrams_.emplace_back(at, one.batch->packet_bytes(one.chunk));
        at += datagrams_.back().size();
    }
    queued_.clear();
    return datagrams_;
}

}  // namespace lanesum::transport
