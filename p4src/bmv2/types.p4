// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Headers and metadata that the controls pass to each other.

#ifndef LANESUM_BMV2_TYPES_P4
#define LANESUM_BMV2_TYPES_P4

// Operation of control Lanes on its registers.
typedef bit<2> step_t;
const step_t STEP_NONE = 0;
const step_t STEP_STORE = 1;
const step_t STEP_COMBINE = 2;
const step_t STEP_READ = 3;

// Cause of an ICMP message, see icmp.p4.
typedef bit<3> cause_t;
const cause_t CAUSE_NONE = 0;
const cause_t CAUSE_EXPIRED = 1;
const cause_t CAUSE_NO_ROUTE = 2;
const cause_t CAUSE_ECHO = 3;     // an echo request to the switch
const cause_t CAUSE_PORT = 4;     // a UDP datagram to the switch
const cause_t CAUSE_PROTOCOL = 5; // any other packet to the switch

// Message of the switch: neither a routed packet nor an answer to a contribution.
const verdict_t VERDICT_ICMP = 14;

// Payload of contributions by uplink words of a group; at most one is valid, and none together with lanes.
#define UPLINK_HEADER(header, state) header##_t header;
// Remove it, once the accumulator words are made of it or read from the registers.
#define REMOVE_UPLINK(header, state) hdr.header.setInvalid();

// ICMP message about a packet, with that packet's IPv4 header.
header report_t {
    bit<8>   type;
    bit<8>   code;
    bit<16>  checksum;
    bit<32>  rest;
    bit<160> quoted;
}

struct headers_t {
    ethernet_t ethernet;
    arp_t      arp;
    ipv4_t     ipv4;
    report_t   report;
    udp_t      udp;
    icmp_t     datagram; // first eight bytes behind the IPv4 header of other protocols than UDP
    lanesum_t  lanesum;
    FOR_EACH_UPLINK_HEADER(UPLINK_HEADER)
    lanes_t    lanes;
}

// Owner of a slot entry. The valid bit is explicit, so that no identifier is special (INV-3).
struct owner_t {
    bit<1>  valid;
    bit<8>  op;
    bit<16> job;
    bit<32> tag;
    bit<32> epoch;
    bit<32> chunk;
}

// Registers of v1model hold no structs: the fields of owner_t in one word, in their order.
typedef bit<121> owner_word_t;
#define OWNER_WORD(hdr) \
    (1w1 ++ hdr.lanesum.op ++ hdr.lanesum.job ++ hdr.lanesum.tag ++ hdr.lanesum.epoch ++ hdr.lanesum.chunk)
#define SET_OWNER(owner, word) \
    owner.valid = word[120:120]; \
    owner.op = word[119:112]; \
    owner.job = word[111:96]; \
    owner.tag = word[95:64]; \
    owner.epoch = word[63:32]; \
    owner.chunk = word[31:0]

struct metadata_t {
    verdict_t  verdict;
    arrival_t  arrival;
    bit<1>     parse_failed;
    bit<1>     bad_header;
    bit<1>     tagged;          // behind a VLAN tag
    addressee_t addressee;
    bit<1>     length_matches;
    bit<1>     expired;
    cause_t    cause;           // of an ICMP message

    // From table station.
    ipv4_addr_t own_ip;         // 0 for none
    bit<6>     answer_dscp;
    bit<3>     answer_queue;

    bit<16>    zero;            // never written: a verified checksum must be equal to it

    // From table origin.
    bit<1>     known_source;
    port_t     port_difference; // 0 where the packet came in by its source's port
    bit<1>     attached;        // the source is connected to this switch, not to another one

    // From table member.
    bit<1>     member;
    bit<32>    worker;          // this member's bit
    fan_in_t   fan_in;          // contributions that complete an entry
    bit<16>    group;           // multicast group of the job's members
    role_t     role;
    bit<16>    lease;           // ticks
    bit<1>     slot_in_range;
    bit<1>     op_allowed;
    bit<32>    entry;

    // Slot state as read for this packet.
    owner_t    owner;
    bit<32>    round_words;     // uplink words of the owner's round
    bit<32>    workers;         // contributors so far
    bit<8>     count;
    bit<8>     state;           // flags of the answer: FLAG_ECN, FLAG_COLLISION
    bit<8>     own_state;       // those that this packet adds
    bit<16>    now;             // ticks of 1,024 us
    bit<16>    touched;
    order_t order;
    progress_t progress;

    step_t     step;
    bit<128>   code_table;      // 16 bytes, entry 0 in the lowest

    bit<1>     has_route;
    bit<1>     built;           // this switch wrote the payload, and must write the UDP checksum
    bit<1>     watched;
    queue_depth_t below_threshold; // packets short of the port's threshold
#ifdef WITH_FAULTS
    bit<1>     lost;
#endif
}

#endif
