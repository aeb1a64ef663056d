// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Metadata that the controls hand to each other.

#ifndef LANESUM_TYPES_P4
#define LANESUM_TYPES_P4

// What happens to the packet.
typedef bit<4> verdict_t;
const verdict_t VERDICT_DROP = 0;
const verdict_t VERDICT_ROUTE = 1;
const verdict_t VERDICT_AGGREGATE = 2;
const verdict_t VERDICT_ARP = 3;
const verdict_t VERDICT_DESCEND = 4;  // hand an answer from above to every worker here
const verdict_t VERDICT_RESULT = 5;   // send the sum to every member
const verdict_t VERDICT_REPLAY = 6;   // send the sum to the sender
const verdict_t VERDICT_PENDING = 7;  // tell every member who is missing
const verdict_t VERDICT_CONFLICT = 8; // tell every member what they disagree about
const verdict_t VERDICT_ASCEND = 9;   // send the sum on towards the server, as a contribution

// What the switch is to a job: bits of the member table's parameter.
typedef bit<8> role_t;
const role_t ROLE_ASCEND = 1;   // what is complete here goes on towards the server
const role_t ROLE_SHARED = 2;   // entries may belong to other jobs, which are not disturbed
const role_t ROLE_UPPER = 4;    // members are racks
const role_t ROLE_QUORUM = 8;   // the server decides, and answers who is late
const role_t ROLE_PARTIAL = 16; // complete before all members are in

// How the packet's (epoch, chunk) stands to the slot's owner.
typedef bit<3> order_t;
const order_t ORDER_NEWER = 0;    // or the owner is nobody: the packet may claim the entry
const order_t ORDER_SAME = 1;
const order_t ORDER_OLDER = 2;    // a late packet
const order_t ORDER_CONFLICT = 3; // same place, other lane operation or length of the round
const order_t ORDER_FOREIGN = 4;  // another job is still at work here

// What the lane registers do.
typedef bit<2> step_t;
const step_t STEP_NONE = 0;
const step_t STEP_STORE = 1;
const step_t STEP_COMBINE = 2;
const step_t STEP_READ = 3;

// What else a slot entry remembers.
typedef bit<3> state_t;
const state_t STATE_DONE = 1;      // complete; never found by counting, because the fan-in may have changed since
const state_t STATE_ECN = 2;       // a contribution met congestion
const state_t STATE_COLLISION = 4; // a contribution had found another entry taken

// Who owns a slot entry: explicit valid bit, so that no identifier is special.
struct owner_t {
    bit<1>  valid;
    bit<8>  op;
    bit<16> job;
    bit<32> tag;
    bit<32> epoch;
    bit<32> chunk;
}

struct metadata_t {
    verdict_t verdict;
    bool      parse_failed;
    bool      length_matches;
    bool      shape_matches;
    bool      lost;          // taken by the fault table
    bit<16>   zero;          // never written: what a verified checksum comes to

    // From the origin table.
    bool      known_source;
    bool      port_matches;
    bool      attached;      // the source hangs at this very switch
    bool      forged;

    // From the membership table.
    bool      member;
    bit<32>   worker;        // this member's bit
    bit<16>   slot_base;     // first slot of the job
    bit<16>   slot_count;
    bit<8>    fan_in;        // contributions that complete a slot
    bit<16>   group;         // multicast group of the job's members
    bool      ascend;        // the role, bit by bit
    bool      shared;
    bool      upper;
    bool      quorum;
    bool      partial;
    bit<16>   lease;         // ticks
    bool      slot_in_range;
    bool      op_allowed;

    // Slot state as read for this packet.
    bit<32>   entry;
    owner_t   owner;
    order_t   order;
    bit<32>   round_words;   // uplink words of the owner's round
    bit<32>   workers;       // contributors so far
    bit<8>    count;
    state_t   state;
    bit<16>   now;           // ticks of 1,024 us
    bit<16>   touched;
    bool      done;
    bool      seen;
    bool      last;

    step_t    step;
    bit<128>  code_table;    // 16 bytes, entry 0 in the lowest

    bool      has_route;
    bool      expired;
    bool      built;         // the payload is this switch's own, so that the checksums are to be made
    bool      congested;
    bool      is_answer;
}

#endif
