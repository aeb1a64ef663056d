// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Result: payload of answers, and the owner that a conflict names. The control is ../shared/result.p4.

#define CARRY_SUM \
    hdr.lanes.setValid(); \
    hdr.codes.setInvalid(); \
    hdr.codes16.setInvalid(); \
    hdr.bridge.handover = HANDOVER_SUM
#define CARRY_NOTHING \
    hdr.codes.setInvalid(); \
    hdr.codes16.setInvalid(); \
    hdr.bridge.handover = HANDOVER_EMPTY

// Progress of the entry when the contribution arrived, in its first pass.
#if PASSES > 1
#define RESULT_PROGRESS hdr.pass.progress
#define RESULT_LAST ((bit<8>) PROGRESS_LAST)
#else
#define RESULT_PROGRESS meta.progress
#define RESULT_LAST PROGRESS_LAST
#endif
#define OWNER_ROUND_WORDS SHAPE_ROUND_WORDS(meta.record)

// Put the owner's operation into a conflict packet.
control ConflictOwner(INGRESS_PARAMETERS) {
    action name_operation(bit<8> op) { hdr.lanesum.op = op; }

    table conflict_owner {
        key = { SHAPE_OPERATION(meta.record): exact @name("operation"); }
        actions = { name_operation; }
        const default_action = name_operation(OP_ADD32);
        size = 8;
        const entries = {
            4w1: name_operation(OP_EXPAND8);
            4w3: name_operation(OP_ADD8X4);
            4w4: name_operation(OP_OR);
            4w5: name_operation(OP_MAX);
            4w6: name_operation(OP_EXPAND16);
            4w7: name_operation(OP_EXPAND8TO16);
        }
    }

    apply {
        conflict_owner.apply();
    }
}

#include "../shared/result.p4"
