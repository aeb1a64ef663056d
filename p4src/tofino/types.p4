// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// What the controls hand to each other inside of one pass, and what ingress tells egress.

#ifndef LANESUM_TOFINO_TYPES_P4
#define LANESUM_TOFINO_TYPES_P4

// What the checks that need no table of the controller's say of a packet.
typedef bit<2> arrival_t;
const arrival_t ARRIVAL_OTHER = 0;
const arrival_t ARRIVAL_CONTRIBUTION = 1; // undamaged, of a size and operation that are summed here
const arrival_t ARRIVAL_CORRUPT = 2;
const arrival_t ARRIVAL_ANSWER = 3; // comes back to be answered, see passes.p4

// Besides the verdicts of ../shared/types.p4.
const verdict_t VERDICT_TAKE_OVER = 10;
#if PASSES > 1
const verdict_t VERDICT_TAKEN = 11;  // counted, and no answer follows; the rest of its words is to be added
const verdict_t VERDICT_PASS = 12;   // goes around
const verdict_t VERDICT_ANSWER = 13; // has gone around, and is to be answered if the entry is still as it was
#else
const verdict_t VERDICT_TAKEN = VERDICT_DROP;
#endif

// Words of a whole packet, over all passes.
const bit<16> PACKET_WORDS = ACCUMULATOR_WORDS * PASSES;
const bit<16> PACKET_CODE_WORDS = CODE_WORDS * PASSES;
const bit<16> PACKET_CODE16_WORDS = CODE16_WORDS * PASSES;

// Which of its passes a packet is in.
typedef bit<2> phase_t;
const phase_t PHASE_FIRST = 0;
const phase_t PHASE_PASS = 1;   // takes words to the lanes, or sums from them
const phase_t PHASE_ANSWER = 2; // the last one, for an answer
#if PASSES > 1
#define WHERE_FIRST_PASS if (meta.phase == PHASE_FIRST)
#define IN_FIRST_PASS && meta.phase == PHASE_FIRST
#else
#define WHERE_FIRST_PASS
#define IN_FIRST_PASS
#endif

// Which registers a packet may change.
typedef bit<2> entrance_t;
const entrance_t ENTRANCE_NONE = 0;
const entrance_t ENTRANCE_FREE = 1;    // whatever the entry belongs to
const entrance_t ENTRANCE_GUARDED = 2; // only what is this job's already
const entrance_t ENTRANCE_LOOK = 3;    // none

// How the packet stands to its entry, when all registers but the lanes have been asked.
typedef bit<3> standing_t;
const standing_t STANDING_OLDER = 0;
const standing_t STANDING_NEW = 1;
const standing_t STANDING_ADDED = 2;
const standing_t STANDING_SEEN = 3;
const standing_t STANDING_CONFLICT = 4;
const standing_t STANDING_FOREIGN = 5;

// What the counting register says.
typedef bit<2> progress_t;
const progress_t PROGRESS_OPEN = 0;
const progress_t PROGRESS_LAST = 1; // complete with this packet
const progress_t PROGRESS_DONE = 2; // it was complete before

// How words are combined.
typedef bit<2> combination_t;
const combination_t COMBINE_ADD = 0;
const combination_t COMBINE_OR = 1;
const combination_t COMBINE_MAX = 2;

typedef bit<8> handover_t;
const handover_t HANDOVER_ROUTED = 0;      // what came in goes on: everything that a checksum covers changes in egress
const handover_t HANDOVER_COLLIDED = 1;    // the same, but the server is to hear of a taken entry
const handover_t HANDOVER_SUM = 2;         // made here, payload is the lanes
const handover_t HANDOVER_EMPTY = 3;       // made here, no payload
const handover_t HANDOVER_RECIRCULATE = 4; // back into ingress, to take over an entry
const handover_t HANDOVER_PASS = 5;        // back into ingress, for the next pass

// In front of every packet between ingress and egress; recirculated ones keep it.
header bridge_t {
    handover_t handover;
    @padding bit<7> pad;
    PortId_t   ingress_port;     // where the packet came in first
    bit<16>    payload_checksum; // of the lanes
}

#if PASSES > 1
// What a packet is to do in its next pass, and with words of which form.
typedef bit<8> task_t;
const task_t TASK_STRIP = 0x00;  // take words off the packet, that is all
const task_t TASK_STORE = 0x10;
const task_t TASK_ADD = 0x20;
const task_t TASK_OR = 0x24;
const task_t TASK_MAX = 0x28;
const task_t TASK_READ = 0x40;   // put sums on the packet
const task_t TASK_ANSWER = 0x80;
const task_t TASK_CODES = 0x00;
const task_t TASK_LANES = 0x01;
const task_t TASK_CODES16 = 0x02;
const task_t TASK_FORM = 0x03;  // bits of the form
const task_t TASK_SUMS = 0x20;   // bit of those that add to what is there

// What the first pass has decided, behind the bridge while a packet goes around.
header journey_t {
    task_t  task;
    bit<8>  pass;     // its number, from 0
    bit<8>  verdict;  // what is to become of the packet in the end; VERDICT_DROP: nothing
    bit<8>  progress; // of the entry at the first pass
    bit<16> entry;    // with the block of words in the bits above the slot
    bit<16> udp_sum;  // of the words so far
    bit<16> fan_in;   // and what else the table of members says
    bit<16> group;
    role_t  role;
    bit<32> worker;   // who is to be noted beside the block, or should be
    bit<32> workers;  // those in the sum, where there is to be an answer
}
#endif

struct ingress_headers_t {
    bridge_t   bridge;
#if PASSES > 1
    journey_t  journey;
#endif
    ethernet_t ethernet;
    arp_t      arp;
    ipv4_t     ipv4;
    udp_t      udp;
    lanesum_t  lanesum;
    codes_t    codes;
    codes16_t  codes16;
    lanes_t    arrived; // only in the parser
    lanes_t    lanes;
}

struct egress_headers_t {
    bridge_t   bridge;
    ethernet_t ethernet;
    ipv4_t     ipv4;
    udp_t      udp;
    lanesum_t  lanesum;
}

// Where the sixteen bits of shadow and slot lie in the lanesum header: one number, so that it can be added to.
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

struct ingress_metadata_t {
    verdict_t     verdict;
    arrival_t     arrival;
    bit<1>        bad_ipv4;
    bit<1>        ipv4_corrupt;
    bit<1>        length_matches;
    bit<1>        parse_failed;
    bit<16>       udp_sum;         // what the checksum would have to make up for
    bit<16>       payload_bytes;
    bit<16>       payload_gap;
    bit<16>       datagram_gap;
    bit<1>        takeover;        // recirculated, to take over an entry

    bit<1>        known_source;
    bit<1>        attached;
    PortId_t      port_difference;

    bit<1>        member;
    bit<32>       worker;
    bit<16>       fan_in;
    bit<16>       group;
    role_t        role;
    bit<16>       lease;
    bit<16>       place;
    bit<16>       room;            // slots behind this one in the job's range, see Membership
    bit<16>       operation_bit;
    bit<16>       allowed;
    bit<16>       entry;           // bit 15 is the shadow set, the slot is below
    bit<32>       owner;           // stands for job and tag
    bit<32>       shape;           // operation and size of the round
    combination_t combination;
    bit<1>        wide;            // words came as they are summed

    entrance_t    entrance;
    bit<1>        epoch_moved;
    bit<1>        epoch_reached;
    bit<2>        chunk_order;
    bit<1>        shape_differs;
    bit<32>       seen;            // contributors so far, of packets with this chunk
    standing_t    standing;
    progress_t    progress;
    bit<32>       workers;
    bit<8>        own_state;       // flags that the entry gets from this packet
    bit<8>        state;
    bit<32>       recalled;        // the owner's shape, or when it was touched
    bit<32>       now;
    bit<32>       age;
    bit<32>       overdue;
    bit<1>        has_route;
    bit<1>        expired;
    bit<1>        may_recirculate;
#if PASSES > 1
    phase_t       phase;
    bit<32>       generation;      // stands for job, tag, epoch and chunk
    bit<1>        torn;            // the sum of this block is not of those workers
    bit<32>       difference;      // between the workers then and now
    bit<16>       carried_sum;     // of the blocks behind this one
#endif
    PortId_t      turning_port;
}

struct egress_metadata_t {
    bit<16> ipv4_rest;  // of the checksum: what is not in the fields
    bit<16> udp_rest;
    bit<16> pseudo_length; // protocol and length of the pseudo header (RFC 768), where they are not in the rest
    bit<1>  update_udp;
    bit<32> depth;
    bit<32> short_of;   // packets that are missing until the port counts as congested
    bit<1>  watched;
}

#endif
