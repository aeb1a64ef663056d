// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Membership: place of the packet's entry, and checks of slot and operation. The control is ../shared/membership.p4.

#define MEMBER_STAGE
#define MEMBER_KEY
// Both shadow sets of a slot lie side by side.
#define LOCATE_SLOT(slot_base, slot_count, allowed_ops) \
    meta.slot_in_range = (bit<1>) ((bit<16>) hdr.lanesum.slot < slot_count); \
    meta.op_allowed = (allowed_ops >> hdr.lanesum.op)[0:0]; \
    meta.entry = ((bit<32>) (slot_base + (bit<16>) hdr.lanesum.slot) << 1) | (bit<32>) hdr.lanesum.shadow

#define ADMISSION_KEY meta.member: ternary; meta.slot_in_range: ternary; meta.op_allowed: ternary;
#define ADMISSION_ENTRIES \
    (0, _, _): not_a_member(); \
    (1, 0, _): refuse_slot(); \
    (1, 1, 0): refuse_op(); \
    (1, 1, 1): accept();

#include "../shared/membership.p4"
