// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Metadata that the controls hand to each other.

#ifndef LANESUM_TYPES_P4
#define LANESUM_TYPES_P4

// What happens to the packet.
typedef bit<3> verdict_t;
const verdict_t VERDICT_DROP = 0;
const verdict_t VERDICT_ROUTE = 1;
const verdict_t VERDICT_AGGREGATE = 2;
const verdict_t VERDICT_ARP = 3;
const verdict_t VERDICT_RESULT = 4;  // send the sum to every worker
const verdict_t VERDICT_REPLAY = 5;  // send the sum to the sender
const verdict_t VERDICT_PENDING = 6; // tell the sender who is missing

// How the packet's (epoch, chunk) stands to the slot's owner.
typedef bit<2> order_t;
const order_t ORDER_NEWER = 0;    // or the owner is nobody: the packet may claim the entry
const order_t ORDER_SAME = 1;
const order_t ORDER_OLDER = 2;    // a late packet
const order_t ORDER_CONFLICT = 3; // same place, other lane operation

// What the lane registers do.
typedef bit<2> step_t;
const step_t STEP_NONE = 0;
const step_t STEP_STORE = 1;
const step_t STEP_COMBINE = 2;
const step_t STEP_READ = 3;

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

    // From the membership table.
    bit<32>   worker;        // this worker's bit
    bit<16>   slot_base;     // first slot of the job
    bit<16>   slot_count;
    bit<8>    fan_in;        // contributions that complete a slot
    bit<16>   group;         // multicast group of the job's workers
    bool      slot_in_range;
    bool      op_allowed;

    // Slot state as read for this packet.
    bit<32>   entry;
    owner_t   owner;
    order_t   order;
    bit<32>   workers;       // contributors so far
    bit<8>    count;
    bool      seen;
    bool      complete;
    bool      last;

    step_t    step;
    bit<128>  code_table;    // 16 bytes, entry 0 in the lowest
}

#endif
