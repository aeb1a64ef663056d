// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// What a worker has sent and needs no more itself, as in lanesum/transport/history.py.
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

class History {
public:
    explicit History(std::shared_ptr<Link> link);

    void begin(std::uint32_t epoch, std::shared_ptr<ChunkBatch> batch);
    void end();  // the first round under way
    void ask(std::uint32_t epoch, std::uint32_t chunk, bool bypass, double now);
    bool asked() const { return !asked_.empty(); }
    void due(double now, Outbox &outbox);

private:
    struct Question {
        double sent_at = -std::numeric_limits<double>::infinity();  // when the chunk was last sent from here
        bool asked = false;
        bool bypass = false;
    };
    struct Packets {
        std::uint32_t epoch;
        std::shared_ptr<ChunkBatch> batch;
        std::unordered_map<std::uint32_t, Question> questions;  // by chunk; of those that anybody ever asked for
    };
    struct Asked {
        std::uint32_t epoch;
        std::uint32_t chunk;
    };

    Packets *find(std::uint32_t epoch);

    std::shared_ptr<Link> link_;
    std::uint64_t most_;
    std::uint64_t kept_ = 0;
    std::deque<Packets> rounds_;  // epochs follow each other
    std::size_t ended_ = 0;       // of them, at the beginning
    std::vector<Asked> asked_;
};

}  // namespace lanesum::transport
