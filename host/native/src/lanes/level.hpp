// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Level of vector instructions that lane operations and codecs use: the widest one of the processor, unless a test sets
// another one.
#pragma once

#include <span>
#include <string_view>

#include "lanes/kernels.hpp"

namespace lanesum {

struct Level {
    std::string_view name;
    const Kernels *kernels;
};

/// Return the levels of this processor, narrowest first; never empty.
std::span<const Level> supported_levels();

/// Return the level in use.
const Level &level();

/// Use another level from now on, in all threads. Return false if this processor has no level of that name.
bool set_level(std::string_view name);

}  // namespace lanesum
