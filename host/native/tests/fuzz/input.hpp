// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Format of fuzzer inputs: a byte of choices, then datagrams, each after a byte of circumstances (sender, or time of
// arrival) and two bytes of length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lanesum::fuzz {

/// A datagram in memory of exactly its size, so that sanitizers detect reads beyond its end.
struct Record {
    std::uint8_t circumstances = 0;
    std::vector<std::byte> datagram;
};

struct Input {
    std::uint8_t choices = 0;
    std::vector<Record> records;
};

/// Read an input. Any bytes are valid: the last record ends where they end.
Input read(std::span<const std::uint8_t> bytes);

/// Write an input, the inverse of ``read``.
std::vector<std::uint8_t> written(const Input &input);

/// Abort the program with a message if a property does not hold, so that the input is kept.
void require(bool holds, const char *property);

}  // namespace lanesum::fuzz
