// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Mutations of inputs.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "input.hpp"

namespace lanesum::fuzz {

using Random = std::mt19937_64;

/// Return one input of the non-empty ``corpus`` with a few changes: datagrams are lost, duplicated, reordered, truncated,
/// extended or taken from another input; fields and bits are changed.
Input mutated(const std::vector<Input> &corpus, Random &random);

}  // namespace lanesum::fuzz
