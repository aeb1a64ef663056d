// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Headers in front of and behind the lanesum header.

#ifndef LANESUM_HEADERS_P4
#define LANESUM_HEADERS_P4

#include "protocol.p4"
#include "repeat.p4"

typedef bit<48> mac_t;
typedef bit<32> ipv4_addr_t;

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_ARP = 0x0806;
const bit<8> IP_PROTOCOL_UDP = 17;
const bit<16> IPV4_HEADER_BYTES = 20;
const bit<16> UDP_HEADER_BYTES = 8;

header ethernet_t {
    mac_t    destination;
    mac_t    source;
    bit<16>  ether_type;
}

// IPv4 over Ethernet only (RFC 826).
header arp_t {
    bit<16>     hardware_type;
    bit<16>     protocol_type;
    bit<8>      hardware_length;
    bit<8>      protocol_length;
    bit<16>     operation;
    mac_t       sender_mac;
    ipv4_addr_t sender_ip;
    mac_t       target_mac;
    ipv4_addr_t target_ip;
}

// Options are left in the payload: routing updates the checksum incrementally and never needs them.
header ipv4_t {
    bit<4>      version;
    bit<4>      ihl;
    bit<6>      dscp;
    bit<2>      ecn;
    bit<16>     total_length;
    bit<16>     identification;
    bit<3>      flags;
    bit<13>     fragment_offset;
    bit<8>      ttl;
    bit<8>      protocol;
    bit<16>     checksum;
    ipv4_addr_t source;
    ipv4_addr_t destination;
}

header udp_t {
    bit<16> source_port;
    bit<16> destination_port;
    bit<16> length;
    bit<16> checksum;
}

#define WORD_FIELD(i) bit<32> w##i;

// What is narrower on the way up than in the sum. Eight 4-bit codes per word for 8-bit lanes, or four 8-bit codes for
// 16-bit lanes: two accumulator words each.
header codes_t {
    FOR_EACH_CODE_WORD(WORD_FIELD)
}

// Eight 4-bit codes per word for 16-bit lanes: four accumulator words.
header codes16_t {
    FOR_EACH_CODE16_WORD(WORD_FIELD)
}

// Three words are the bit planes of 32 codes of 3 bits, the least significant bits first: eight accumulator words.
header planes3_t {
    FOR_EACH_PLANES3_WORD(WORD_FIELD)
}

// The same with five.
header planes5_t {
    FOR_EACH_PLANES5_WORD(WORD_FIELD)
}

// The words that are summed: payload of a plain contribution, and of every result.
header lanes_t {
    FOR_EACH_WORD(WORD_FIELD)
}

struct headers_t {
    ethernet_t ethernet;
    arp_t      arp;
    ipv4_t     ipv4;
    udp_t      udp;
    lanesum_t  lanesum;
    codes_t    codes;
    codes16_t  codes16;
    planes3_t  planes3;
    planes5_t  planes5;
    lanes_t    lanes;
}

#endif
