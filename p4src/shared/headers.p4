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
const bit<16> ETHERTYPE_VLAN = 0x8100;         // IEEE 802.1Q
const bit<16> ETHERTYPE_SERVICE_VLAN = 0x88A8; // IEEE 802.1ad
const bit<8> IP_PROTOCOL_UDP = 17;
const bit<16> IPV4_HEADER_BYTES = 20;
const bit<8> IPV4_WITHOUT_OPTIONS = 0x45; // version 4, five words
const bit<16> UDP_HEADER_BYTES = 8;
const bit<16> ICMP_HEADER_BYTES = 8;
// Words of the largest IPv4 datagram; the lengths of more would overflow 16 bits and could look right.
const bit<16> MAX_WORDS = (0xFFFF - IPV4_HEADER_BYTES - UDP_HEADER_BYTES - LANESUM_HEADER_BYTES) >> 2;

header ethernet_t {
    mac_t    destination;
    mac_t    source;
    bit<16>  ether_type;
}

// Length of a UDP datagram with a lanesum header and 'words' words of payload.
#define UDP_BYTES_OF(words) (UDP_HEADER_BYTES + LANESUM_HEADER_BYTES + words * 4)
const bit<16> RESULT_UDP_BYTES = UDP_BYTES_OF(PACKET_WORDS);
const bit<16> EMPTY_UDP_BYTES = UDP_BYTES_OF(0);

const bit<2> ECN_CAPABLE_1 = 1; // RFC 3168
const bit<2> ECN_CAPABLE_0 = 2;
const bit<2> ECN_CONGESTION_EXPERIENCED = 3;

// Contributions with one of these flags pass a switch unsummed.
const bit<8> FLAGS_PAST = FLAG_BYPASS | FLAG_PARTIAL;

const bit<16> ARP_HARDWARE_ETHERNET = 1;
const bit<8> MAC_BYTES = 6;
const bit<8> IPV4_ADDRESS_BYTES = 4;

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

// Parser states for ARP. The answer goes to the sender's MAC address, so a group address is refused there: it would go
// to all stations of the link.
#define GROUP_BIT(mac) mac[40:40]
#define PARSE_ARP \
    state parse_arp { \
        packet.extract(hdr.arp); \
        transition select(hdr.arp.hardware_type, hdr.arp.protocol_type) { \
            (ARP_HARDWARE_ETHERNET, ETHERTYPE_IPV4): check_arp; \
            default: refuse_header; \
        } \
    } \
    state check_arp { \
        transition select(hdr.arp.hardware_length, hdr.arp.protocol_length, GROUP_BIT(hdr.arp.sender_mac)) { \
            (MAC_BYTES, IPV4_ADDRESS_BYTES, 0): accept; \
            default: refuse_header; \
        } \
    } \
    state refuse_header { \
        meta.bad_header = 1; \
        transition accept; \
    }

// Parser state for frames with a VLAN tag.
#define PARSE_TAG \
    state parse_tag { \
        meta.tagged = 1; \
        transition accept; \
    }
#define SELECT_ETHER_TYPE \
    ETHERTYPE_IPV4: parse_ipv4; \
    ETHERTYPE_ARP: parse_arp; \
    ETHERTYPE_VLAN: parse_tag; \
    ETHERTYPE_SERVICE_VLAN: parse_tag; \
    default: accept;

// Options stay in the payload: the checksum is updated by differences, which does not need them.
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

// Last one of the three flags.
#define MORE_FRAGMENTS hdr.ipv4.flags[0:0]

header udp_t {
    bit<16> source_port;
    bit<16> destination_port;
    bit<16> length;
    bit<16> checksum;
}

const bit<8> IP_PROTOCOL_ICMP = 1;

// RFC 792
header icmp_t {
    bit<8>  type;
    bit<8>  code;
    bit<16> checksum;
    bit<32> rest;
}

#define WORD_FIELD(i) bit<32> w##i;

// Uplink words of codes. Each becomes two accumulator words: eight 4-bit codes of 8-bit lanes, or four 8-bit codes of
// 16-bit lanes.
header codes_t {
    FOR_EACH_CODE_WORD(WORD_FIELD)
}

// Each becomes four accumulator words: eight 4-bit codes of 16-bit lanes.
header codes16_t {
    FOR_EACH_CODE16_WORD(WORD_FIELD)
}

// Three words become eight accumulator words: bit planes of 32 codes of 3 bits, least significant bits first.
header planes3_t {
    FOR_EACH_PLANES3_WORD(WORD_FIELD)
}

// The same with five words and bits.
header planes5_t {
    FOR_EACH_PLANES5_WORD(WORD_FIELD)
}

// Accumulator words: payload of a contribution that is not widened, and of every result.
header lanes_t {
    FOR_EACH_WORD(WORD_FIELD)
}

// All fields of the lanesum header, for checksums.
#define LANESUM_FIELDS \
    hdr.lanesum.version, hdr.lanesum.kind, hdr.lanesum.flags, hdr.lanesum.job, hdr.lanesum.tag, hdr.lanesum.epoch, \
    hdr.lanesum.chunk, hdr.lanesum.shadow, hdr.lanesum.slot, hdr.lanesum.op, hdr.lanesum.spare, hdr.lanesum.workers, \
    hdr.lanesum.racks, hdr.lanesum.fan_in_workers, hdr.lanesum.fan_in_racks, hdr.lanesum.words

// Parser state for packets from the server's UDP port. Their destination port is any port that a worker sent from, and
// other traffic may use it too: only packets that begin like an answer are parsed further.
#define PARSE_ANSWER \
    state parse_answer { \
        transition select(packet.lookahead<bit<8>>()) { \
            LANESUM_VERSION ++ KIND_RESULT: parse_lanesum; \
            LANESUM_VERSION ++ KIND_PENDING: parse_lanesum; \
            LANESUM_VERSION ++ KIND_CONFLICT: parse_lanesum; \
            default: accept; \
        } \
    }

#endif
