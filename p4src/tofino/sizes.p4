// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Sizes of a profile: what make tofino gives with -D, and what follows from the chip.

#ifndef LANESUM_TOFINO_SIZES_P4
#define LANESUM_TOFINO_SIZES_P4

// Times that a contribution goes through ingress, each time with the next ACCUMULATOR_WORDS of its sum's words.
#ifndef PASSES
#define PASSES 1
#endif

// Each lane register of 32-bit words takes SLOTS * PASSES * 2 / 4096 memories and a spare one, four of them a stage, of 48
// a stage.
#ifndef SLOTS
#define SLOTS 16384
#endif

// The port of each pipe that sends packets back, by the lower seven bits of its number.
#ifndef RECIRCULATION_PORT
#define RECIRCULATION_PORT 68
#endif

// Tofino 2 has stages to spare behind the decisions, but the first one is full: what may wait is put into later ones.
#if __TARGET_TOFINO__ == 2
#define WAITS_UNTIL(stage_number) @stage(stage_number)
#else
#define WAITS_UNTIL(stage_number)
#endif

// Bits of a slot's number. An entry is a slot in 15 bits below the shadow set, so there are at most 32,768: more than the
// memories of one stage hold on either chip. Of so many, one job could have all but one (see Membership).
#if SLOTS == 32768
#define SLOT_BITS 15
#elif SLOTS == 16384
#define SLOT_BITS 14
#elif SLOTS == 8192
#define SLOT_BITS 13
#elif SLOTS == 4096
#define SLOT_BITS 12
#elif SLOTS == 2048
#define SLOT_BITS 11
#elif SLOTS == 1024
#define SLOT_BITS 10
#elif SLOTS == 512
#define SLOT_BITS 9
#elif SLOTS == 256
#define SLOT_BITS 8
#else
#error SLOTS is none of the numbers that the sources have code for
#endif

// Bits of a slot's number and of the pass, which says which block of the slot's words is at hand.
#if PASSES == 1
#define BLOCK_BITS SLOT_BITS
#elif PASSES == 4
#define BLOCK_BITS (SLOT_BITS + 2)
#elif PASSES == 8
#define BLOCK_BITS (SLOT_BITS + 3)
#else
#error PASSES is none of the numbers that the sources have code for
#endif
#if SLOTS * PASSES > 32768
#error SLOTS * PASSES is more than the 32,768 that an entry's place has bits for
#endif

#endif
