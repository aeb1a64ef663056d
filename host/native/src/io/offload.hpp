// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Probe for super-packets (UDP GSO) on the path to a peer.
#pragma once

#include <string>

namespace lanesum::io {

struct Offload {
    bool super_packets;
    std::string reason;  ///< a sentence
};

/// Decides by the device that has the socket's local address.
///
/// Super-packets cross a veth, a bridge or a tap unsegmented, and a software switch behind it may have to see every
/// packet. Loopback segments for receivers of single datagrams, and a device on a bus, or its driver, segments before the
/// wire. So only those two may be used.
Offload probe(int fd);

}  // namespace lanesum::io
