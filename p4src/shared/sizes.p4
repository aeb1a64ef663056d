// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Every size of the program, with its reason. Override with -D on the compiler's command line.

#ifndef LANESUM_SIZES_P4
#define LANESUM_SIZES_P4

// 64 words make a 330-byte result frame: two of them fit a minimum-size jumbo slot budget, and the single pass of the
// Tofino 2 twin ends at 64 one-word registers. 32, 64 and 128 are built.
#ifndef ACCUMULATOR_WORDS
#define ACCUMULATOR_WORDS 64
#endif

// Pipeline passes of a contribution: more than one on Tofino only, where a packet has more words than one pass takes.
#ifndef PASSES
#define PASSES 1
#endif

// Words of a whole packet, over all passes.
const bit<16> PACKET_WORDS = ACCUMULATOR_WORDS * PASSES;

// Slots of the whole switch, shared out to jobs by the controller. 1,024 slots of 64 words in two shadow sets hold
// 512 KiB of sums; 64 slots cover the default window of one job.
#ifndef SLOTS
#define SLOTS 1024
#endif

// A slot has one entry for each of its two shadow sets.
const bit<32> ENTRIES = SLOTS * 2;

// One entry per (ingress port, worker): 32 jobs of 32 workers.
const bit<32> MEMBER_TABLE_SIZE = 1024;
const bit<32> RECEIVER_TABLE_SIZE = 1024;
// One entry per job that a switch above works on too.
const bit<32> DESCEND_TABLE_SIZE = 32;
// One entry per job that uses TABLE8.
const bit<32> LOOKUP_TABLE_SIZE = 32;
const bit<32> FORWARD_TABLE_SIZE = 1024;
// The switch's own MAC address and broadcast.
const bit<32> STATION_TABLE_SIZE = 4;
// One for each addressee.
const bit<32> CPU_PORT_TABLE_SIZE = 4;
const bit<32> ARP_TABLE_SIZE = 1024;
const bit<32> ORIGIN_TABLE_SIZE = 1024;
// One entry per switch port; port numbers have nine bits.
const bit<32> FAULT_TABLE_SIZE = 512;
const bit<32> CONGESTION_TABLE_SIZE = 512;

#endif
