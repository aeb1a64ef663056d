// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Vector instructions of all processors of the architecture (SSE2, NEON), as the compiler uses them.
#include <utility>

#include "lanes/kernels.hpp"
#include "protocol/header.hpp"
#include "protocol/spec.hpp"

namespace lanesum {
namespace {

#include "lanes/loops.inl"

template <typename Combiner, LaneOp OP>
struct Groups {
    static constexpr Kernels::Widen run = widen_groups<Combiner, OP>;
};

}  // namespace

constexpr Kernels BASELINE_KERNELS = kernels<Groups>();

}  // namespace lanesum
