// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Checksums: IPv4 and UDP are verified on the way in; packets that the switch itself builds get new ones, and those
// that it only changes get theirs amended, so that what was broken before stays visible.

#define IPV4_CHECKSUM_FIELDS { \
    hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_length, hdr.ipv4.identification, \
    hdr.ipv4.flags, hdr.ipv4.fragment_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.source, \
    hdr.ipv4.destination }

#define LANESUM_FIELDS \
    hdr.lanesum.version, hdr.lanesum.kind, hdr.lanesum.flags, hdr.lanesum.job, hdr.lanesum.tag, hdr.lanesum.epoch, \
    hdr.lanesum.chunk, hdr.lanesum.shadow, hdr.lanesum.slot, hdr.lanesum.op, hdr.lanesum.spare, hdr.lanesum.workers, \
    hdr.lanesum.racks, hdr.lanesum.fan_in_workers, hdr.lanesum.fan_in_racks, hdr.lanesum.words

// Pseudo header (RFC 768) and UDP header without its checksum.
#define UDP_FIELDS \
    hdr.ipv4.source, hdr.ipv4.destination, (bit<16>) IP_PROTOCOL_UDP, hdr.udp.length, hdr.udp.source_port, \
    hdr.udp.destination_port, hdr.udp.length

#define LANE_FIELD(i) , hdr.lanes.w##i
#define CODE_FIELD(i) , hdr.codes.w##i
#define CODE16_FIELD(i) , hdr.codes16.w##i
#define PLANES3_FIELD(i) , hdr.planes3.w##i
#define PLANES5_FIELD(i) , hdr.planes5.w##i

control VerifyChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        // Options are not parsed, so a header that has some cannot be verified; hosts do.
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5, IPV4_CHECKSUM_FIELDS, hdr.ipv4.checksum,
                        HashAlgorithm.csum16);
        // With the checksum among the fields an undamaged datagram comes to 0, whichever zero its sender uses.
        // A payload that was not read cannot be verified: such packets are only routed. Tofino adds up in the parser.
        verify_checksum(hdr.udp.checksum != 0 && hdr.lanes.isValid(),
                        { UDP_FIELDS, hdr.udp.checksum, LANESUM_FIELDS FOR_EACH_WORD(LANE_FIELD) }, meta.zero,
                        HashAlgorithm.csum16);
        verify_checksum(hdr.udp.checksum != 0 && hdr.codes.isValid(),
                        { UDP_FIELDS, hdr.udp.checksum, LANESUM_FIELDS FOR_EACH_CODE_WORD(CODE_FIELD) }, meta.zero,
                        HashAlgorithm.csum16);
        verify_checksum(hdr.udp.checksum != 0 && hdr.codes16.isValid(),
                        { UDP_FIELDS, hdr.udp.checksum, LANESUM_FIELDS FOR_EACH_CODE16_WORD(CODE16_FIELD) }, meta.zero,
                        HashAlgorithm.csum16);
        verify_checksum(hdr.udp.checksum != 0 && hdr.planes3.isValid(),
                        { UDP_FIELDS, hdr.udp.checksum, LANESUM_FIELDS FOR_EACH_PLANES3_WORD(PLANES3_FIELD) },
                        meta.zero, HashAlgorithm.csum16);
        verify_checksum(hdr.udp.checksum != 0 && hdr.planes5.isValid(),
                        { UDP_FIELDS, hdr.udp.checksum, LANESUM_FIELDS FOR_EACH_PLANES5_WORD(PLANES5_FIELD) },
                        meta.zero, HashAlgorithm.csum16);
    }
}

control UpdateChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(meta.verdict >= VERDICT_DESCEND, IPV4_CHECKSUM_FIELDS, hdr.ipv4.checksum,
                        HashAlgorithm.csum16);
        update_checksum(meta.built && hdr.lanes.isValid(),
                        { UDP_FIELDS, LANESUM_FIELDS FOR_EACH_WORD(LANE_FIELD) }, hdr.udp.checksum,
                        HashAlgorithm.csum16);
        update_checksum(meta.built && !hdr.lanes.isValid(), { UDP_FIELDS, LANESUM_FIELDS }, hdr.udp.checksum,
                        HashAlgorithm.csum16);
        // 0 would mean "none": one's complement has another zero, 0xFFFF, which is what a word of 0 comes to.
        update_checksum(meta.built && hdr.udp.checksum == 0, { 16w0 }, hdr.udp.checksum, HashAlgorithm.csum16);
    }
}
