// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Headers and metadata that the controls pass to each other within one pass, and the header from ingress to egress.

#ifndef LANESUM_TOFINO_TYPES_P4
#define LANESUM_TOFINO_TYPES_P4

// In addition to the verdicts of ../shared/types.p4.
const verdict_t VERDICT_TAKE_OVER = 10; // recirculate, then claim the entry of another job
#if PASSES > 1
const verdict_t VERDICT_TAKEN = 11;  // counted, no answer follows; the rest of its words are to be added
const verdict_t VERDICT_PASS = 12;   // recirculate for the next pass
const verdict_t VERDICT_ANSWER = 13; // last pass: answer if the entry has not changed
#else
const verdict_t VERDICT_TAKEN = VERDICT_DROP;
#endif

// Uplink words of a whole packet, over all passes.
const bit<16> PACKET_CODE_WORDS = CODE_WORDS * PASSES;
const bit<16> PACKET_CODE16_WORDS = CODE16_WORDS * PASSES;

// Pass of a packet.
typedef bit<2> phase_t;
const phase_t PHASE_FIRST = 0;
const phase_t PHASE_PASS = 1;   // moves words to the lanes, or sums from them
const phase_t PHASE_ANSWER = 2; // last pass of an answer

// Registers that a packet may change.
typedef bit<2> access_t;
const access_t ACCESS_NONE = 0; // reads none either
const access_t ACCESS_ANY = 1;  // entries of any owner
const access_t ACCESS_OWN = 2;  // entries of this job only
const access_t ACCESS_READ = 3; // reads, and changes none

// Order of a packet's chunk and the entry's, within one epoch.
typedef bit<2> chunk_order_t;
const chunk_order_t CHUNK_OLDER = 0;
const chunk_order_t CHUNK_NEWER = 1;
const chunk_order_t CHUNK_SAME = 2;

// Operation that combines words.
typedef bit<2> combination_t;
const combination_t COMBINE_ADD = 0;
const combination_t COMBINE_OR = 1;
const combination_t COMBINE_MAX = 2;

typedef bit<8> handover_t;
const handover_t HANDOVER_ROUTED = 0;      // routed as received: egress changes everything that a checksum covers
const handover_t HANDOVER_COLLIDED = 1;    // routed, with the flag for a taken entry
const handover_t HANDOVER_SUM = 2;         // built here, payload is the lanes
const handover_t HANDOVER_EMPTY = 3;       // built here, no payload
const handover_t HANDOVER_RECIRCULATE = 4; // back to ingress, to take over an entry
const handover_t HANDOVER_PASS = 5;        // back to ingress, for the next pass
const handover_t HANDOVER_REDIRECTED = 6;  // to the CPU port, as received

// First header of every packet between ingress and egress; recirculated packets keep it.
header bridge_t {
    handover_t handover;
    bit<1>     partial_sum;      // of another pipe; the port is that of its last contributor
    @padding bit<6> pad;
    PortId_t   ingress_port;     // port of the packet's first pass
    bit<16>    payload_checksum; // of the lanes
}

#if PASSES > 1
// Work of the next pass, and form of the words.
typedef bit<8> task_t;
const task_t TASK_STRIP = 0x00;  // only remove words from the packet
const task_t TASK_STORE = 0x10;
const task_t TASK_ADD = 0x20;
const task_t TASK_OR = 0x24;
const task_t TASK_MAX = 0x28;
const task_t TASK_READ = 0x40;   // put sums into the packet
const task_t TASK_ANSWER = 0x80;
const task_t TASK_CODES = 0x00;
const task_t TASK_LANES = 0x01;
const task_t TASK_CODES16 = 0x02;
const task_t TASK_FORM = 0x03;   // bits of the form
const task_t TASK_SUMS = 0x20;   // bit of the tasks that combine words with earlier ones

// Decisions of the first pass, behind the bridge header while a packet is recirculated.
header pass_t {
    task_t  task;
    bit<8>  number;   // of the pass, from 0
    bit<8>  verdict;  // for the last pass; VERDICT_DROP: no answer
    bit<8>  progress; // of the entry at the first pass
    bit<16> entry;    // with the block of words in the bits above the slot
    bit<16> udp_sum;  // of the words so far
    bit<16> fan_in;   // from table member, as the next two fields
    bit<16> group;
    role_t  role;
    bit<32> worker;   // bits to note for the block, or to compare with
    bit<32> workers;  // workers in the sum, for an answer
}
#endif

struct ingress_headers_t {
    bridge_t   bridge;
#if PASSES > 1
    pass_t     pass;
#endif
    ethernet_t ethernet;
    arp_t      arp;
    ipv4_t     ipv4;
    udp_t      udp;
    lanesum_t  lanesum;
    codes_t    codes;
    codes16_t  codes16;
    lanes_t    received; // words as received; only in the parser
    lanes_t    lanes;
}

struct egress_headers_t {
    bridge_t   bridge;
    ethernet_t ethernet;
    ipv4_t     ipv4;
    udp_t      udp;
    lanesum_t  lanesum;
}

// Shadow and slot of the lanesum header as one number of 16 bits, which an action can add to; the shadow set is its
// upper bit.
#define SHADOW_BIT 0x8000
header place_t {
    bit<128> before;
    bit<16>  place;
}

struct two_words_t {
    bit<32> lo;
    bit<32> hi;
}

struct two_bytes_t {
    bit<8> lo;
    bit<8> hi;
}

// Redirected packets of a port in its last tick with any.
struct redirects_t {
    bit<16> packets;
    bit<16> tick;
}

// Shape of a round in one word: the operation above the number of uplink words. Larger rounds are routed to the server.
#define SHAPE_OPERATION_SHIFT 28
#define SHAPE_OPERATION(shape) shape[31:28]
#define SHAPE_ROUND_WORDS(shape) (shape & 0x0FFFFFFF)

struct ingress_metadata_t {
    verdict_t     verdict;
    arrival_t     arrival;
    bit<1>        bad_header;
    bit<1>        tagged;          // behind a VLAN tag
    addressee_t   addressee;
    ipv4_addr_t   own_ip;          // unused: this program sends no ICMP messages
    bit<6>        answer_dscp;
    bit<3>        answer_queue;
    bit<1>        ipv4_corrupt;
    bit<1>        length_matches;
    bit<1>        parse_failed;
    bit<16>       udp_sum;         // sum of the datagram without pseudo header length and protocol
    bit<16>       payload_bytes;
    bit<16>       payload_gap;     // difference of lengths: UDP less payload
    bit<16>       datagram_gap;    // IPv4 less UDP
    bit<2>        pipe;            // of this pass
    bit<1>        takeover;        // recirculated to take over an entry

    bit<1>        known_source;
    bit<1>        attached;        // the source is connected to this switch, not to another one
    port_t        port_difference; // 0 where the packet came in by its source's port

    bit<1>        member;
    bit<32>       worker;          // this member's bit
    fan_in_t      fan_in;          // contributions that complete an entry
    bit<16>       group;           // multicast group of the job's members
    role_t        role;
    bit<16>       lease;           // ticks
    bit<16>       place;
    bit<16>       slots_left;      // slots of the job from this one on, see membership.p4
    bit<16>       operation_bit;
    bit<16>       allowed;
    bit<16>       entry;           // shadow set in bit 15, slot below
    bit<32>       owner;           // CRC-32 of job and tag
    bit<32>       shape;           // operation and size of the round
    combination_t combination;
    bit<1>        wide;            // the payload is accumulator words

    access_t      access;
    bit<1>        epoch_moved;
    bit<1>        epoch_reached;
    chunk_order_t chunk_order;
    bit<1>        shape_differs;
    bit<32>       seen;            // contributors so far, of packets with this chunk
    order_t    order;
    progress_t    progress;
    bit<32>       workers;
    bit<8>        own_state;       // flags that this packet adds to the entry
    bit<8>        state;
    bit<32>       record;          // the owner's shape, or the time of its last contribution
    bit<32>       now;
    bit<32>       age;
    bit<32>       overdue;
    bit<1>        has_route;
    bit<1>        expired;
    bit<1>        may_recirculate;
    port_t        cpu_port;            // see redirect.p4
    port_t        cpu_port_difference;
#if !COMBINE_IN_LAST_PASS
    bit<1>        combined;        // the sum goes to another pipe
    port_t        combining_port;
#endif
#if PASSES > 1
    phase_t       phase;
    bit<32>       generation;      // CRC-32 of job, tag, epoch and chunk
    bit<1>        torn;            // the block's sum is not of the answer's workers
    bit<32>       difference;      // between the workers then and now
    bit<16>       later_blocks_sum;
#endif
    port_t        recirculation_port;
}

struct egress_metadata_t {
    bit<16> ipv4_rest;             // of the checksum: what is not in the fields
    bit<16> udp_rest;
    bit<16> pseudo_length;         // protocol and length of the pseudo header (RFC 768), where the rest lacks them
    bit<1>  update_udp;
    queue_depth_t depth;
    queue_depth_t below_threshold; // cells short of the port's threshold
    bit<1>  watched;
    bit<16> tick;                  // of the time, see redirect.p4
    bit<1>  too_many;              // redirected packets of the port in this tick
}

#endif
