// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Decisions of table slot, the same on every target. Control Slots of the target finds standing and progress.
//
// The first contributor of a newer (epoch, chunk) overwrites the whole entry, so no entry is ever cleared (INV-3). A worker
// sends the next chunk of a shadow set only when every worker has the result of the previous one (docs/protocol.md); so a
// packet older than the owner changes nothing, and only a server that decides by quorum has use for it.

// Key columns: standing, progress, role; EXTRA are the target's own columns, wildcards in these entries.
#define SLOT_ENTRIES(EXTRA) \
    /* First contributor; with fan-in 1 it is the last one too. */ \
    (STANDING_NEW, PROGRESS_OPEN, _ EXTRA): claim(); \
    (STANDING_NEW, _, ROLE_ASCEND &&& ROLE_ASCEND EXTRA): claim_and_complete(VERDICT_ASCEND); \
    (STANDING_NEW, _, _ EXTRA): claim_and_complete(VERDICT_RESULT); \
    /* A late packet of an older chunk or epoch. */ \
    (STANDING_OLDER, _, ROLE_QUORUM &&& ROLE_QUORUM EXTRA): pass_late(); \
    (STANDING_OLDER, _, _ EXTRA): drop_late(); \
    (STANDING_CONFLICT, _, _ EXTRA): report_conflict(); \
    /* The sum was complete without this worker. */ \
    (STANDING_ADDED, PROGRESS_DONE, ROLE_ASCEND &&& ROLE_ASCEND EXTRA): pass_late(); \
    (STANDING_ADDED, PROGRESS_DONE, _ EXTRA): replay(); \
    /* A duplicate: the worker lacks the result, or the upper switch lacks this sum. */ \
    (STANDING_SEEN, PROGRESS_DONE, ROLE_ASCEND &&& ROLE_ASCEND EXTRA): ascend_again(); \
    (STANDING_SEEN, PROGRESS_DONE, _ EXTRA): replay(); \
    (STANDING_SEEN, _, _ EXTRA): report_pending(); \
    (STANDING_ADDED, PROGRESS_OPEN, _ EXTRA): contribute(); \
    (STANDING_ADDED, _, ROLE_ASCEND &&& ROLE_ASCEND EXTRA): contribute_and_complete(VERDICT_ASCEND); \
    (STANDING_ADDED, _, _ EXTRA): contribute_and_complete(VERDICT_RESULT);
