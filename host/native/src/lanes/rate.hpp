// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Speed of a lane operation on one core, and of memcpy on the same buffers.
#pragma once

#include <cstddef>

#include "protocol/spec.hpp"

namespace lanesum {

/// Bytes of payload per second.
struct LaneRate {
    double operation;
    double copy;
};

/// Measure contributions to ``entries`` accumulators of ``words`` words, each with its own payload, and copies of the same
/// payloads to the same accumulators. Both alternate in short slices for ``seconds``. The best slice of each counts, since
/// other load of the machine can only slow a slice down.
///
/// @param first measure the first contribution of a chunk, else a later one.
LaneRate lane_rate(LaneOp op, std::size_t words, std::size_t entries, double seconds, bool first);

}  // namespace lanesum
