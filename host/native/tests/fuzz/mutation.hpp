// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// New inputs from old ones.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "input.hpp"

namespace lanesum::fuzz {

using Random = std::mt19937_64;

/// One of ``corpus``, which is not empty, changed in a few places: datagrams lost, repeated, out of order, cut or made longer, or
/// taken from another input; fields and bits set to something else.
Input mutated(const std::vector<Input> &corpus, Random &random);

}  // namespace lanesum::fuzz
