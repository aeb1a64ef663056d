// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "input.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lanesum::fuzz {
namespace {

constexpr std::size_t LEAD_BYTES = 3;

}  // namespace

Input read(std::span<const std::uint8_t> bytes) {
    Input input;
    if (bytes.empty()) {
        return input;
    }
    input.choices = bytes[0];
    for (bytes = bytes.subspan(1); bytes.size() >= LEAD_BYTES;) {
        const std::size_t announced = static_cast<std::size_t>(bytes[1]) << 8 | bytes[2];
        const std::size_t size = std::min(announced, bytes.size() - LEAD_BYTES);
        Record &record = input.records.emplace_back();
        record.circumstances = bytes[0];
        record.datagram.resize(size);
        if (size != 0) {
            std::memcpy(record.datagram.data(), bytes.data() + LEAD_BYTES, size);
        }
        bytes = bytes.subspan(LEAD_BYTES + size);
    }
    return input;
}

std::vector<std::uint8_t> written(const Input &input) {
    std::vector<std::uint8_t> bytes = {input.choices};
    for (const Record &record : input.records) {
        bytes.push_back(record.circumstances);
        bytes.push_back(static_cast<std::uint8_t>(record.datagram.size() >> 8));
        bytes.push_back(static_cast<std::uint8_t>(record.datagram.size()));
        for (const std::byte byte : record.datagram) {
            bytes.push_back(static_cast<std::uint8_t>(byte));
        }
    }
    return bytes;
}

void require(bool holds, const char *property) {
    if (!holds) {
        std::fprintf(stderr, "violated: %s\n", property);
        std::abort();
    }
}

}  // namespace lanesum::fuzz
