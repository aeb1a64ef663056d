// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Datagrams to be sent now, one behind the other in one buffer that is reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/chunk_batch.hpp"

namespace lanesum::transport {

using Datagram = std::span<const std::byte>;

class Outbox {
public:
    void clear() { queued_.clear(); }

    /// Adds a packet; ``batch`` has to exist until ``lay_out``.
    void add(const ChunkBatch &batch, std::uint32_t chunk, std::uint32_t flags) {
        queued_.push_back({&batch, chunk, flags});
    }

    /// Makes datagrams of all packets added, in that order.
    std::span<const Datagram> lay_out();

    /// Returns the datagrams of the last ``lay_out``.
    std::span<const Datagram> datagrams() const { return datagrams_; }

private:
    struct Queued {
        const ChunkBatch *batch;
        std::uint32_t chunk;
        std::uint32_t flags;
    };
    std::vector<Queued> queued_;
    std::vector<std::byte> buffer_;
    std::vector<Datagram> datagrams_;
};

}  // namespace lanesum::transport
