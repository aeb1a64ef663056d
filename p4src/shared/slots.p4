// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Decisions of table slot, the same on every target. Control Slots of the target finds order and progress.
//
// The first contributor of a newer (epoch, chunk) overwrites the whole entry, so no entry is ever cleared (INV-3). A
// worker sends the next chunk of a shadow set only when every worker has the result of the previous one
// (docs/protocol.md); so a packet older than the owner changes nothing, and only a server that decides by quorum has
// use for it.

// Key columns: order, progress, role; EXTRA are the target's own columns, wildcards in these entries.
#define SLOT_ENTRIES(EXTRA) \
    /* First contributor; with fan-in 1 it is the last one too. */ \
    (ORDER_NEWER, PROGRESS_OPEN, _ EXTRA): claim(); \
    (ORDER_NEWER, _, ROLE_ASCEND &&& ROLE_ASCEND EXTRA): claim_and_complete(VERDICT_ASCEND); \
    (ORDER_NEWER, _, _ EXTRA): claim_and_complete(VERDICT_RESULT); \
    /* A late packet of an older chunk or epoch. */ \
    (ORDER_OLDER, _, ROLE_QUORUM &&& ROLE_QUORUM EXTRA): pass_late(); \
    (ORDER_OLDER, _, _ EXTRA): drop_late(); \
    (ORDER_CONFLICT, _, _ EXTRA): report_conflict(); \
    /* The sum was complete without this worker. */ \
    (ORDER_SAME, PROGRESS_DONE, ROLE_ASCEND &&& ROLE_ASCEND EXTRA): pass_late(); \
    (ORDER_SAME, PROGRESS_DONE, _ EXTRA): replay(); \
    /* A duplicate: the worker lacks the result, or the upper switch lacks this sum. */ \
    (ORDER_DUPLICATE, PROGRESS_DONE, ROLE_ASCEND &&& ROLE_ASCEND EXTRA): ascend_again(); \
    (ORDER_DUPLICATE, PROGRESS_DONE, _ EXTRA): replay(); \
    (ORDER_DUPLICATE, _, _ EXTRA): report_pending(); \
    (ORDER_SAME, PROGRESS_OPEN, _ EXTRA): contribute(); \
    (ORDER_SAME, _, ROLE_ASCEND &&& ROLE_ASCEND EXTRA): contribute_and_complete(VERDICT_ASCEND); \
    (ORDER_SAME, _, _ EXTRA): contribute_and_complete(VERDICT_RESULT);
