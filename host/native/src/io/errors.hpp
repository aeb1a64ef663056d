// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// What the errno of a call on a UDP socket means; as in lanesum/transport/loop.py.
#pragma once

#include <cerrno>

namespace lanesum::io {

/// A datagram that could not be sent now counts as lost: whoever lacks it asks again.
constexpr bool is_no_room(int error) {
    return error == EAGAIN || error == ENOBUFS;
}

/// What an ICMP message makes the kernel say, once, in the next call, whatever that is for.
constexpr bool is_hearsay(int error) {
    switch (error) {
        case ECONNREFUSED:
        case EMSGSIZE:
        case EHOSTUNREACH:
        case ENETUNREACH:
        case EHOSTDOWN:
        case ENONET:
        case ENOPROTOOPT:
        case EOPNOTSUPP:
        case EPROTO:
            return true;
        default:
            return false;
    }
}

/// Said by this host's own routing table if it is said every time.
constexpr bool is_no_way(int error) { return error == EHOSTUNREACH || error == ENETUNREACH; }

/// Messages would have to come within microseconds of each other to outlast so many tries.
inline constexpr int TRIES = 8;

}  // namespace lanesum::io
