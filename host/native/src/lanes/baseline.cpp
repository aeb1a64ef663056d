// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Whatever vectors every processor of the architecture has: SSE2 or NEON, as the compiler uses them.
#include "lanes/kernels.hpp"
#include "protocol/header.hpp"
#include "protocol/spec.hpp"

namespace lanesum {
namespace {

#include "lanes/loops.inl"

template <typename Combine, LaneOp OP>
struct Groups {
    static constexpr Kernels::Widen run = widen_groups<Combine, OP>;
};

}  // namespace

constexpr Kernels BASELINE_KERNELS = kernels<Groups>();

}  // namespace lanesum
