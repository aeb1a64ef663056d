// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Result: payload of answers, and the owner that a conflict names. The control is ../shared/result.p4.

// Control Lanes has made the lanes the payload already.
#define CARRY_SUM meta.built = 1
#define CARRY_NOTHING \
    meta.built = 1; \
    FOR_EACH_UPLINK_HEADER(REMOVE_UPLINK) \
    hdr.lanes.setInvalid()

#define RESULT_PROGRESS meta.progress
#define RESULT_LAST PROGRESS_LAST
#define OWNER_ROUND_WORDS meta.round_words

// Put the owner's operation into a conflict packet.
control ConflictOwner(INGRESS_PARAMETERS) {
    apply {
        hdr.lanesum.op = meta.owner.op;
    }
}

#include "../shared/result.p4"
