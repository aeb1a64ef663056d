/* SPDX-FileCopyrightText: 2026 the lanesum authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What every model here has: positions and their entries, the window rule of the workers and their history, and the
 * network as the set of all packets that were ever sent. Each of them may arrive at any later moment, any number of
 * times or never, so resending adds nothing to it. That set needs no variables of its own for contributions: worker w
 * has sent positions 0 .. next[w]-1, and a resend carries the same.
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef EPOCHS
#define EPOCHS 3
#endif
#ifndef CHUNKS
#define CHUNKS 3 /* in every epoch; no multiple of SLOTS, so that epochs begin in different slots */
#endif

#ifndef PARTIES
#define PARTIES WORKERS /* workers of all jobs */
#endif

#define EVERYBODY ((1 << WORKERS) - 1)
#define POSITIONS (EPOCHS * CHUNKS)
#define ENTRIES (2 * SLOTS)

/* Sets of positions are bits of an int, of which bit 31 is the sign. */
#if EPOCHS * CHUNKS > 31
#error "EPOCHS * CHUNKS must be at most 31"
#endif

#ifdef BUG_POSITION_RESTARTS /* every round counts positions from 0 again */
#define PLACE(p) ((p) % CHUNKS)
#else
#define PLACE(p) (p)
#endif
#define SLOT(p) (PLACE(p) % SLOTS)
#ifdef BUG_ONE_SHADOW_SET
#define SHADOW(p) 0
#else
#define SHADOW(p) ((PLACE(p) / SLOTS) % 2)
#endif
#define ENTRY(p) (SHADOW(p) * SLOTS + SLOT(p))

/* How a packet stands to the owner of its entry, and what is done with it: Order and Decision of aggregation/slots.py,
 * and REPORT_OVERLAP and REPORT_GONE of server/ledger.py. */
mtype { NEWER, SAME, OLDER, CONFLICT, FOREIGN };
mtype {
    CLAIM, CLAIM_AND_COMPLETE, CONTRIBUTE, CONTRIBUTE_AND_COMPLETE, REPLAY, ASCEND_AGAIN, REPORT_PENDING,
    REPORT_CONFLICT, COLLIDE, PASS_LATE, DROP_LATE, REPORT_OVERLAP, REPORT_GONE
};

/* Positions 0 .. next-1 were sent, those in `done` have their result. */
byte next[PARTIES];
int done[PARTIES];

/* Results that were sent to a worker. What is in them is asserted where they are made. */
int answered[PARTIES];

#define HAS(set, p) (((set) >> (p)) & 1)
#define OUTSTANDING(w, p) ((p) < next[w] && !HAS(done[w], p))
#define ALL_POSITIONS ((1 << POSITIONS) - 1)

/* Rule of docs/protocol.md, "Slots and positions": position p only when the result of p - SLOTS is there. */
#ifdef BUG_WINDOW_OFF_BY_ONE
#define WINDOW (SLOTS + 1)
#else
#define WINDOW SLOTS
#endif
#ifdef IN_TURN /* host/lanesum/transport/rounds.py: a round starts when the one before it has all its results */
#define FIRST_OF_ROUND(p) ((p) / CHUNKS * CHUNKS)
#define ROUND_OPEN(w) ((done[w] & ((1 << FIRST_OF_ROUND(next[w])) - 1)) == (1 << FIRST_OF_ROUND(next[w])) - 1)
#else /* the window rule alone: a round may begin before the last one has ended */
#define ROUND_OPEN(w) true
#endif
#define MAY_SEND(w) (next[w] < POSITIONS && ROUND_OPEN(w) && (next[w] < WINDOW || HAS(done[w], next[w] - WINDOW)))

/* A worker that is asked for a position sends it again while it waits for its result, and later out of its history. */
#ifndef HISTORY
#define HISTORY (2 * SLOTS)
#endif
#define CAN_RESEND(w, p) (OUTSTANDING(w, p) || ((p) < next[w] && next[w] - (p) <= HISTORY))
