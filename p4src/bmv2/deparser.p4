// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Deparser: headers in wire order; whatever the parser left is appended by the target.

#define EMIT_UPLINK(header, state) packet.emit(hdr.header);

control PacketDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.arp);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.report);
        packet.emit(hdr.udp);
        packet.emit(hdr.datagram);
        packet.emit(hdr.lanesum);
        FOR_EACH_UPLINK_HEADER(EMIT_UPLINK)
        packet.emit(hdr.lanes);
    }
}
