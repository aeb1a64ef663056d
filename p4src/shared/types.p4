// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Types that the programs for BMv2 and for Tofino share. Each target's own metadata is in its types.p4.

#ifndef LANESUM_TYPES_P4
#define LANESUM_TYPES_P4

// Ternary key of a bit set that has these bits.
#define HAS(bits) bits &&& bits

// Decision about a packet.
typedef bit<4> verdict_t;
const verdict_t VERDICT_DROP = 0;
const verdict_t VERDICT_ROUTE = 1;
const verdict_t VERDICT_AGGREGATE = 2;
const verdict_t VERDICT_ARP = 3;
const verdict_t VERDICT_DESCEND = 4;  // forward an answer of an upper switch to every worker below this switch
const verdict_t VERDICT_RESULT = 5;   // send the sum to every member
const verdict_t VERDICT_REPLAY = 6;   // send the sum to the sender
const verdict_t VERDICT_PENDING = 7;  // send the list of contributors to every member
const verdict_t VERDICT_CONFLICT = 8; // send both shapes of the round to every member
const verdict_t VERDICT_ASCEND = 9;   // send the sum on towards the server, as one contribution

// Role of the switch in a job: bits of the member table's parameter.
typedef bit<8> role_t;
const role_t ROLE_ASCEND = 1;   // complete sums go on towards the server
const role_t ROLE_SHARED = 2;   // entries are shared with other jobs; unfinished ones stay with their owner
const role_t ROLE_UPPER = 4;    // members are racks
const role_t ROLE_QUORUM = 8;   // the server decides by quorum, and answers late workers
const role_t ROLE_PARTIAL = 16; // an entry completes before all members have contributed

// Stations that a frame is addressed to.
typedef bit<2> addressee_t;
const addressee_t ADDRESSEE_OTHER = 0;
const addressee_t ADDRESSEE_SWITCH = 1;
const addressee_t ADDRESSEE_ALL = 2; // broadcast

// Checks of a packet that need no table of the controller.
typedef bit<2> arrival_t;
const arrival_t ARRIVAL_OTHER = 0;
const arrival_t ARRIVAL_CONTRIBUTION = 1; // undamaged, of a size and operation that this program sums
const arrival_t ARRIVAL_CORRUPT = 2;
const arrival_t ARRIVAL_ANSWER = 3;       // last pass of an answer, see tofino/passes.p4

// Order of a contribution and the owner of its slot entry: ChunkOrder of lanesum/aggregation/slots.py, with duplicates.
typedef bit<3> order_t;
const order_t ORDER_OLDER = 0;    // the owner is newer: a late packet
const order_t ORDER_NEWER = 1;    // newer than the owner, or no owner: the packet claims the entry
const order_t ORDER_SAME = 2;     // of the owner's chunk, first packet of its worker
const order_t ORDER_DUPLICATE = 3;// of the owner's chunk, duplicate
const order_t ORDER_CONFLICT = 4; // of the owner's chunk, with another operation or round size
const order_t ORDER_FOREIGN = 5;  // another job owns the entry

// Progress of the entry's sum.
typedef bit<2> progress_t;
const progress_t PROGRESS_OPEN = 0;
const progress_t PROGRESS_LAST = 1; // complete with this packet
const progress_t PROGRESS_DONE = 2; // complete before this packet

#endif
