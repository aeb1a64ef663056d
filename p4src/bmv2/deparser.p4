// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Deparser: headers in wire order; whatever the parser left is appended by the target.

control PacketDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.arp);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.lanesum);
        packet.emit(hdr.codes);
        packet.emit(hdr.codes16);
        packet.emit(hdr.planes3);
        packet.emit(hdr.planes5);
        packet.emit(hdr.lanes);
    }
}
