// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Whether the kernel may be handed super-packets (UDP GSO) on the way to a peer.
#pragma once

#include <string>

namespace lanesum::io {

struct Offload {
    bool super_packets;
    std::string reason;  ///< a sentence
};

/// Looks at the device that has the socket's local address.
///
/// Super-packets cross a veth, a bridge or a tap unsegmented, and whatever stands behind it may be a software switch
/// that has to see every packet for itself. Loopback segments for receivers that want single datagrams, and a device
/// on a bus, or its driver, segments before the wire; so those two may be used, and nothing else.
Offload probe(int fd);

}  // namespace lanesum::io
