// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Contributions that other workers may still need, as in lanesum/transport/retransmit_buffer.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

#include "transport/chunk_batch.hpp"
#include "transport/link.hpp"
#include "transport/outbox.hpp"

namespace lanesum::transport {

class RetransmitBuffer {
public:
    explicit RetransmitBuffer(std::shared_ptr<Link> link);

    void begin(std::uint32_t epoch, std::shared_ptr<ChunkBatch> batch);
    /// Ends the first round in flight.
    void end();
    void request(std::uint32_t epoch, std::uint32_t chunk, bool bypass, double now);
    bool has_requests() const { return !requests_.empty(); }
    void due(double now, Outbox &outbox);

private:
    struct ChunkRequests {
        double sent_at = -std::numeric_limits<double>::infinity();  // last retransmission from this buffer
        bool requested = false;
        bool bypass = false;
    };
    struct RoundPackets {
        std::uint32_t epoch;
        std::shared_ptr<ChunkBatch> batch;
        std::unordered_map<std::uint32_t, ChunkRequests> requests;  // by chunk; of those ever requested
    };
    struct Request {
        std::uint32_t epoch;
        std::uint32_t chunk;
    };

    RoundPackets *find(std::uint32_t epoch);

    std::shared_ptr<Link> link_;
    std::uint64_t max_positions_;
    std::uint64_t num_positions_ = 0;  // of finished rounds
    std::deque<RoundPackets> rounds_;  // epochs are consecutive
    std::size_t num_finished_ = 0;     // of them, at the beginning
    std::vector<Request> requests_;
};

}  // namespace lanesum::transport
