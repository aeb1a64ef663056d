// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Datagrams that are to be sent now, one behind the other in one buffer that is used again and again.
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
    void clear() { pending_.clear(); }

    /// ``batch`` has to be there until ``lay_out``.
    void add(const ChunkBatch &batch, std::uint32_t chunk, std::uint32_t flags) {
        pending_.push_back({&batch, chunk, flags});
    }

    /// Makes datagrams of all that was added, in that order.
    std::span<const Datagram> lay_out();

    /// As laid out last.
    std::span<const Datagram> datagrams() const { return datagrams_; }

private:
    struct Pending {
        const ChunkBatch *batch;
        std::uint32_t chunk;
        std::uint32_t flags;
    };
    std::vector<Pending> pending_;
    std::vector<std::byte> buffer_;
    std::vector<Datagram> datagrams_;
};

}  // namespace lanesum::transport
