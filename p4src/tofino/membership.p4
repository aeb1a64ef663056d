// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Membership: place of the packet's entry, and checks of slot and operation. The control is ../shared/membership.p4.

// Table member is applied to every packet: registers cannot wait until other tables have classified the packet.
#define MEMBER_STAGE @stage(0)
// Only a sum that another pipe has computed is a member in the combining pipe: flag UPPER alone may come from a host.
#define MEMBER_KEY hdr.bridge.partial_sum: exact @name("partial_sum");
// 'slots_left' counts the slots of the job from this one on, less SHADOW_BIT in shadow set 1: shadow and slot are one
// number, from which no bit can be removed before the subtraction. Table owner reads it in the same way.
#define LOCATE_SLOT(slot_base, slot_count, allowed_ops) \
    meta.allowed = allowed_ops & meta.operation_bit; \
    meta.entry = slot_base + meta.place; \
    meta.slots_left = slot_count - meta.place

#define ADMISSION_KEY \
    meta.member: ternary; meta.slots_left: ternary; hdr.lanesum.shadow: ternary @name("shadow"); meta.allowed: ternary;
#define ADMISSION_ENTRIES \
    (0, _, _, _): not_a_member(); \
    (1, 0, _, _): refuse_slot(); \
    (1, SHADOW_BIT, 1, _): refuse_slot(); \
    (1, SHADOW_BIT &&& SHADOW_BIT, 0, _): refuse_slot(); \
    (1, 0 &&& SHADOW_BIT, 1, _): refuse_slot(); \
    (1, _, _, 0): refuse_op(); \
    (1, _, _, _): accept();

#include "../shared/membership.p4"
