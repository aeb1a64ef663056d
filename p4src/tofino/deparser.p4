// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Deparser: headers in wire order, and checksums.

#define LANE_FIELD(i) hdr.lanes.w##i,
#if PASSES > 1
#define LATER_BLOCKS meta.later_blocks_sum
#define EMIT_PASS packet.emit(hdr.pass);
#else
#define LATER_BLOCKS 16w0
#define EMIT_PASS
#endif

control IngressDeparser(packet_out packet, inout ingress_headers_t hdr, in ingress_metadata_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    Checksum() payload_checksum;

    apply {
        hdr.bridge.payload_checksum = payload_checksum.update({ FOR_EACH_WORD(LANE_FIELD) LATER_BLOCKS });
        packet.emit(hdr.bridge);
        EMIT_PASS
        packet.emit(hdr.ethernet);
        packet.emit(hdr.arp);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.lanesum);
        packet.emit(hdr.codes);
        packet.emit(hdr.codes16);
        packet.emit(hdr.lanes);
    }
}

control EgressDeparser(packet_out packet, inout egress_headers_t hdr, in egress_metadata_t meta,
                       in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    Checksum() ipv4_checksum;
    Checksum() udp_checksum;

    apply {
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.checksum = ipv4_checksum.update({
                hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_length,
                hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.fragment_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
                hdr.ipv4.source, hdr.ipv4.destination, meta.ipv4_rest
            });
        }
        if (meta.update_udp == 1) {
            hdr.udp.checksum = udp_checksum.update({
                hdr.ipv4.source, hdr.ipv4.destination, hdr.udp.source_port, hdr.udp.destination_port, hdr.udp.length,
                LANESUM_FIELDS, meta.udp_rest, meta.pseudo_length
            }, true);
        }
        packet.emit(hdr.bridge);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.lanesum);
    }
}
