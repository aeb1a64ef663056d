// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Sizes of a profile: options that make tofino gives with -D, and constants of the chip.

#ifndef LANESUM_TOFINO_SIZES_P4
#define LANESUM_TOFINO_SIZES_P4

// Pipeline passes of a contribution, each with the next ACCUMULATOR_WORDS of its words.
#ifndef PASSES
#define PASSES 1
#endif

// Each lane register of 32-bit words takes SLOTS * PASSES * 2 / 4096 + 1 memories. A stage holds four lane registers
// and 48 memories.
#ifndef SLOTS
#define SLOTS 16384
#endif

// Recirculation port of each pipe: the lower seven bits of its number.
#ifndef RECIRCULATION_PORT
#define RECIRCULATION_PORT 68
#endif

// The port of the combining pipe is looked up in the last pass only, see combine.p4.
#define COMBINE_IN_LAST_PASS (__TARGET_TOFINO__ == 1 && PASSES > 1)

// Bits of a slot's number. An entry is a slot in 15 bits below the shadow set, so there are at most 32,768 slots: more
// than the memories of one stage hold on either chip. A job can have at most 32,767 of them (see membership.p4).
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

// Bits of a slot's number and of the pass, which selects the block of the slot's words.
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
