// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Checksums: IPv4 and UDP are verified on arrival. Packets that the switch builds get new checksums. Those that it only
// changes get theirs updated by the difference (RFC 1624), so that earlier damage stays visible.

bit<16> ones_complement_sum(in bit<16> a, in bit<16> b) {
    bit<17> sum = (bit<17>) a + (bit<17>) b;
    return sum[15:0] + (bit<16>) sum[16:16];
}

// Update the checksum of data in which words grew by 'added' in total.
bit<16> updated(in bit<16> checksum, in bit<16> added) {
    return ~ones_complement_sum(~checksum, added);
}

// For UDP 0 means "no checksum" (RFC 768): it stays, and a sum of 0 is sent as the other zero of one's complement.
bit<16> updated_udp(in bit<16> checksum, in bit<16> added) {
    bit<16> changed = updated(checksum, added);
    return checksum == 0 ? 0 : (changed == 0 ? 0xFFFF : changed);
}

// The word of TTL and protocol shrinks by 0x0100, which is 0xFEFF more in one's complement; options need not be parsed.
#define DECREMENT_TTL \
    hdr.ipv4.ttl = hdr.ipv4.ttl - 1; \
    hdr.ipv4.checksum = updated(hdr.ipv4.checksum, 0xFEFF)
// Control Forward decrements it.
#define DECREMENT_TTL_OF_SUM

// An answer that was built here gets its UDP checksum at the very end instead.
#define ADD_FLAG(flag) \
    hdr.udp.checksum = updated_udp(hdr.udp.checksum, (bit<16>) (flag & ~hdr.lanesum.flags)); \
    hdr.lanesum.flags = hdr.lanesum.flags | flag

#define SET_CONGESTION_EXPERIENCED \
    hdr.ipv4.checksum = updated(hdr.ipv4.checksum, (bit<16>) (ECN_CONGESTION_EXPERIENCED & ~hdr.ipv4.ecn)); \
    hdr.ipv4.ecn = ECN_CONGESTION_EXPERIENCED

// An answer from above that is handed down: its payload was not read, so its checksum is updated instead of computed.
#define BEFORE_ADDRESS_CHANGE \
    ipv4_addr_t old_ip = hdr.ipv4.destination; \
    bit<16> old_port = hdr.udp.destination_port
#define AFTER_ADDRESS_CHANGE \
    if (meta.built == 0) { \
        bit<32> sum = (bit<32>) ~old_ip[31:16] + (bit<32>) ~old_ip[15:0] + (bit<32>) ~old_port \
                      + (bit<32>) hdr.ipv4.destination[31:16] + (bit<32>) hdr.ipv4.destination[15:0] \
                      + (bit<32>) hdr.udp.destination_port; \
        hdr.udp.checksum = updated_udp(hdr.udp.checksum, ones_complement_sum(sum[15:0], sum[31:16])); \
    }

#define IPV4_CHECKSUM_FIELDS { \
    hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_length, hdr.ipv4.identification, \
    hdr.ipv4.flags, hdr.ipv4.fragment_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.source, \
    hdr.ipv4.destination }

// Pseudo header (RFC 768) and UDP header without its checksum.
#define UDP_FIELDS \
    hdr.ipv4.source, hdr.ipv4.destination, (bit<16>) IP_PROTOCOL_UDP, hdr.udp.length, hdr.udp.source_port, \
    hdr.udp.destination_port, hdr.udp.length

#define LANE_FIELD(i) , hdr.lanes.w##i
#define CODE_FIELD(i) , hdr.codes.w##i
#define CODE16_FIELD(i) , hdr.codes16.w##i
#define PLANES3_FIELD(i) , hdr.planes3.w##i
#define PLANES5_FIELD(i) , hdr.planes5.w##i

// With the checksum among the fields, an undamaged datagram sums to 0, whichever zero its sender uses.
#define VERIFY_UDP(payload, PAYLOAD_FIELDS) \
    verify_checksum(hdr.udp.checksum != 0 && hdr.payload.isValid(), \
                    { UDP_FIELDS, hdr.udp.checksum, LANESUM_FIELDS PAYLOAD_FIELDS }, meta.zero, HashAlgorithm.csum16)

control VerifyChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        // Options are not parsed, so a header with options cannot be verified; hosts verify it.
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5, IPV4_CHECKSUM_FIELDS, hdr.ipv4.checksum,
                        HashAlgorithm.csum16);
        // A payload that was not read cannot be verified: such packets are only routed.
        VERIFY_UDP(lanes, FOR_EACH_WORD(LANE_FIELD));
        VERIFY_UDP(codes, FOR_EACH_CODE_WORD(CODE_FIELD));
        VERIFY_UDP(codes16, FOR_EACH_CODE16_WORD(CODE16_FIELD));
        VERIFY_UDP(planes3, FOR_EACH_PLANES3_WORD(PLANES3_FIELD));
        VERIFY_UDP(planes5, FOR_EACH_PLANES5_WORD(PLANES5_FIELD));
    }
}

control UpdateChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(meta.verdict >= VERDICT_DESCEND, IPV4_CHECKSUM_FIELDS, hdr.ipv4.checksum,
                        HashAlgorithm.csum16);
        update_checksum(meta.built == 1 && hdr.lanes.isValid(),
                        { UDP_FIELDS, LANESUM_FIELDS FOR_EACH_WORD(LANE_FIELD) }, hdr.udp.checksum,
                        HashAlgorithm.csum16);
        update_checksum(meta.built == 1 && !hdr.lanes.isValid(), { UDP_FIELDS, LANESUM_FIELDS }, hdr.udp.checksum,
                        HashAlgorithm.csum16);
        // 0 would mean "no checksum": the other zero of one's complement, 0xFFFF, is the sum of one word of 0.
        update_checksum(meta.built == 1 && hdr.udp.checksum == 0, { 16w0 }, hdr.udp.checksum, HashAlgorithm.csum16);
    }
}
