// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Sizes of a profile: what make tofino gives with -D, and what follows from the chip.

#ifndef LANESUM_TOFINO_SIZES_P4
#define LANESUM_TOFINO_SIZES_P4

// Each lane register of 32-bit words takes SLOTS * 2 / 4096 memories and a spare one, four of them a stage, of 48 a stage.
#ifndef SLOTS
#define SLOTS 16384
#endif

// The port of each pipe that sends packets back, by the lower seven bits of its number.
#ifndef RECIRCULATION_PORT
#define RECIRCULATION_PORT 68
#endif

#endif
