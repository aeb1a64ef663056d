// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// What the fuzzers make of their bytes: a byte of choices, then datagrams, each behind a byte of circumstances (who sends
// it, or when it comes) and two of length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lanesum::fuzz {

/// A datagram in memory of just its size, so that reading beyond its end is noticed.
struct Record {
    std::uint8_t circumstances = 0;
    std::vector<std::byte> datagram;
};

struct Input {
    std::uint8_t choices = 0;
    std::vector<Record> records;
};

/// Any bytes are an input: the last record ends where they end.
Input read(std::span<const std::uint8_t> bytes);

std::vector<std::uint8_t> written(const Input &input);

/// Ends the program, so that the input is kept, and says which promise was broken.
void require(bool holds, const char *promise);

}  // namespace lanesum::fuzz
