// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// How fast a core does a lane operation, beside memcpy on the same buffers.
#pragma once

#include <cstddef>

#include "protocol/spec.hpp"

namespace lanesum {

/// Bytes of payload per second.
struct LaneRate {
    double operation;
    double copy;
};

/// Puts contributions into ``entries`` accumulators of ``words`` words, one after the other, each from a payload of its
/// own; and copies the same payloads into the same accumulators. Both take turns in short slices until ``seconds`` are over,
/// and the best slice of each counts, since whatever else the machine does can only slow one down.
///
/// @param first what the first contribution of a chunk does, else any later one.
LaneRate lane_rate(LaneOp op, std::size_t words, std::size_t entries, double seconds, bool first);

}  // namespace lanesum
