// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Which ways through the code were taken so far, for the driver.
#pragma once

#include <cstddef>

namespace lanesum::fuzz {

/// Ways from one place to the next that were taken at least once; about, since some share a number.
std::size_t ways_taken();

}  // namespace lanesum::fuzz
