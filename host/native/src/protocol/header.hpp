// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// The lanesum header. protocol/spec.hpp has its fields and their positions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/spec.hpp"

namespace lanesum {

inline std::uint32_t load_be32(const std::byte *at) {
    std::uint32_t value;
    __builtin_memcpy(&value, at, sizeof value);
    return __builtin_bswap32(value);
}

inline void store_be32(std::byte *at, std::uint32_t value) {
    value = __builtin_bswap32(value);
    __builtin_memcpy(at, &value, sizeof value);
}

/// Header fields as plain integers, as in ``lanesum.protocol.packet.Header``.
struct Header {
#define LANESUM_MEMBER(name, word, shift, bits, initial) std::uint32_t name = initial;
    LANESUM_HEADER_FIELDS(LANESUM_MEMBER)
#undef LANESUM_MEMBER

    /// Read HEADER_BYTES bytes.
    static Header unpack(const std::byte *packed) {
        std::uint32_t wire[HEADER_BYTES / WORD_BYTES];
        for (std::size_t i = 0; i < HEADER_BYTES / WORD_BYTES; ++i) {
            wire[i] = load_be32(packed + i * WORD_BYTES);
        }
        Header header;
#define LANESUM_READ(name, word, shift, bits, initial) \
    header.name = wire[word] >> (shift) & static_cast<std::uint32_t>((std::uint64_t{1} << (bits)) - 1);
        LANESUM_HEADER_FIELDS(LANESUM_READ)
#undef LANESUM_READ
        return header;
    }

    /// Write HEADER_BYTES bytes; every field must fit its bits.
    void pack(std::byte *packed) const {
        std::uint32_t wire[HEADER_BYTES / WORD_BYTES] = {};
#define LANESUM_WRITE(name, word, shift, bits, initial) wire[word] |= name << (shift);
        LANESUM_HEADER_FIELDS(LANESUM_WRITE)
#undef LANESUM_WRITE
        for (std::size_t i = 0; i < HEADER_BYTES / WORD_BYTES; ++i) {
            store_be32(packed + i * WORD_BYTES, wire[i]);
        }
    }

    /// Call ``visit(name, value)`` for each field.
    template <typename Visit>
    void each(Visit visit) const {
#define LANESUM_VISIT(name, word, shift, bits, initial) visit(#name, name);
        LANESUM_HEADER_FIELDS(LANESUM_VISIT)
#undef LANESUM_VISIT
    }

    bool operator==(const Header &) const = default;
};

}  // namespace lanesum
