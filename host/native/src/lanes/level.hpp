// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Which vector instructions are used, here and wherever else there is code for several: the widest that the processor
// has, unless a test says otherwise.
#pragma once

#include <span>
#include <string_view>

#include "lanes/kernels.hpp"

namespace lanesum {

struct Level {
    std::string_view name;
    const Kernels *kernels;
};

/// What this processor can run, narrowest first; never empty.
std::span<const Level> supported_levels();

/// The level in use.
const Level &level();

/// Uses another level from now on, in all threads. False: this processor has none of that name, and nothing changed.
bool set_level(std::string_view name);

}  // namespace lanesum
