/* SPDX-FileCopyrightText: 2026 the lanesum authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Common to all models: positions and their entries, the window rule of the workers and their retransmit buffer, and
 * the network as the set of all packets that were ever sent. Each packet may arrive at any later moment, any number of
 * times or never, so a retransmission adds nothing to the set. Contributions need no variables of their own: sent[w]
 * holds the positions that worker w has sent, and a retransmission carries the same words.
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
#define CHUNKS 3 /* in every epoch; no multiple of SLOTS, so that epochs start in different slots */
#endif

#ifndef PARTIES
#define PARTIES WORKERS /* workers of all jobs */
#endif

#define ALL_WORKERS ((1 << WORKERS) - 1)
#define POSITIONS (EPOCHS * CHUNKS)
#define ENTRIES (2 * SLOTS)

/* Sets of positions are bits of an int, of which bit 31 is the sign. */
#if EPOCHS * CHUNKS > 31
#error "EPOCHS * CHUNKS must be at most 31"
#endif

#ifdef BUG_POSITION_RESTARTS /* every round counts positions from 0 */
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

/* Comparison of a packet with the owner of its entry, and the outcome: ChunkOrder of aggregation/slots.py, Decision of
 * tests/reference/slots.py, and REPORT_OVERLAP and REPORT_GONE of server/slot_table.py. */
mtype { NEWER, SAME, OLDER, CONFLICT, FOREIGN };
mtype {
    CLAIM, CLAIM_AND_COMPLETE, CONTRIBUTE, CONTRIBUTE_AND_COMPLETE, REPLAY, ASCEND_AGAIN, REPORT_PENDING,
    REPORT_CONFLICT, COLLIDE, PASS_LATE, DROP_LATE, REPORT_OVERLAP, REPORT_GONE
};

#define HAS(set, p) (((set) >> (p)) & 1)
#define ALL_POSITIONS ((1 << POSITIONS) - 1)

/* Rule of docs/protocol.md, "Slots and positions": a worker sends position p when it has the result of p - SLOTS. */
#ifdef BUG_WINDOW_OFF_BY_ONE
#define WINDOW (SLOTS + 1)
#else
#define WINDOW SLOTS
#endif

/* Positions that a worker has sent, and those whose result it has. */
int sent[PARTIES];
int done[PARTIES];
#define OUTSTANDING(w, p) (HAS(sent[w], p) && !HAS(done[w], p))

/* Positions without their result, from 1, in the order in which they were sent; 0 behind them. */
typedef Queue {
    byte position[WINDOW]
};
Queue waiting[PARTIES];

/* Results that were sent to a worker. Their content is asserted where they are made. */
int answered[PARTIES];

#include "shards.pml"

#define FIRST_OF_ROUND(p) ((p) / CHUNKS * CHUNKS)
#ifdef IN_TURN /* a round starts when the previous one has all its results, see transport/round_sequence.py */
#define ITS_TURN(w, p) ((done[w] & ((1 << FIRST_OF_ROUND(p)) - 1)) == (1 << FIRST_OF_ROUND(p)) - 1)
#elif defined(IN_STEP) /* slots wait for each other, as with a quorum, see SlotScheduler._free_in_step */
#define ITS_TURN(w, p) ((p) == 0 || HAS(sent[w], (p) - 1))
#else /* neither: slots are reused independently, and rounds may overlap */
#define ITS_TURN(w, p) true
#endif
#define MAY_SEND(w, p) (!HAS(sent[w], p) && ITS_TURN(w, p) && ((p) < WINDOW || HAS(done[w], (p) - WINDOW)))

/* Temporary variables of single steps, not part of the state. */
hidden byte q, found, able;

inline send(w, p) {
    sent[w] = sent[w] | (1 << (p));
    found = false;
    for (q : 0 .. WINDOW - 1) {
        if
        :: !found && waiting[w].position[q] == 0 && !HAS(done[w], p) ->
            waiting[w].position[q] = (p) + 1;
            found = true
        :: else
        fi
    }
}

inline has_result(w, p) {
    done[w] = done[w] | (1 << (p));
    found = false;
    for (q : 0 .. WINDOW - 1) {
        found = found || waiting[w].position[q] == (p) + 1;
        if
        :: found && q + 1 < WINDOW -> waiting[w].position[q] = waiting[w].position[q + 1]
        :: found && q + 1 == WINDOW -> waiting[w].position[q] = 0
        :: else
        fi
    }
}

/* A worker that a pending answer asks for a position retransmits it while it waits for the result, and later from its
 * retransmit buffer: positions of its running round, and BUFFER positions before it; or, where rounds may overlap, the
 * last BUFFER positions, two of each slot. */
#ifndef BUFFER
#define BUFFER (2 * SLOTS)
#endif
#ifdef IN_TURN
inline can_retransmit(w, p) {
    able = false;
    for (q : 0 .. POSITIONS - 1) {
        if
        :: HAS(sent[w], q) -> able = (p) + BUFFER >= FIRST_OF_ROUND(q) /* of the last q */
        :: else
        fi
    };
    able = able && HAS(sent[w], p)
}
#else
inline can_retransmit(w, p) {
    able = HAS(sent[w], p) && ((p) + BUFFER >= POSITIONS || !HAS(sent[w], (p) + BUFFER) || !HAS(done[w], p));
#ifdef BUG_HEADER_FREES_CONTRIBUTION /* a worker that needs no sum keeps its contribution until the header arrives */
    able = able && (!HAS(done[w], p) || GETS_WORDS(w, p));
#endif
    skip
}
#endif
