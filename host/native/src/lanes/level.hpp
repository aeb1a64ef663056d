// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Which of the lane kernels are used: those of the widest vectors that the machine has, unless a test says otherwise.
#pragma once

#include "lanes/kernels.hpp"
#include "simd/level.hpp"

namespace lanesum {

SimdLevel lane_level();

/// The kernels of that level.
const Kernels &lane_kernels();

/// Uses another level from now on, in all threads. False: this machine does not have it, and nothing changed.
bool set_lane_level(SimdLevel level);

}  // namespace lanesum
