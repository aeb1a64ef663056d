// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Coverage of the code so far, for the driver.
#pragma once

#include <cstddef>

namespace lanesum::fuzz {

/// Return the number of edges between branches that were taken at least once. It is approximate: hashes may collide.
std::size_t covered_edges();

}  // namespace lanesum::fuzz
