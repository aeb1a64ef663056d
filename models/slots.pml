/* SPDX-FileCopyrightText: 2026 the lanesum authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The slot protocol with one level: the entries of a switch, the window rule of the workers, and a network that loses,
 * duplicates, delays and reorders any packet. docs/model.md lists the properties, and maps the names to the code. The
 * other models build on this one: only here packets have epochs and chunks, and entries the rules that order them.
 */

#include "workers.pml"

#define FAN_IN WORKERS /* one level, no quorum */

/* Epochs are serial numbers of three bits instead of 32, and wrap within the run: 7, 0, 1. */
#define EPOCH_RANGE 8
#define HALF_RANGE 4
#define FIRST_EPOCH 7

/* The header fields of the packet at position p. */
#define EPOCH(p) ((FIRST_EPOCH + (p) / CHUNKS) % EPOCH_RANGE)
#define CHUNK(p) ((p) % CHUNKS)
#ifdef OP_CONFLICT /* the last worker uses another operation at this position */
#define OP(w, p) ((w) == WORKERS - 1 && (p) == OP_CONFLICT)
#else
#define OP(w, p) 0
#endif

/* Ghost of a contribution: its position from 1, and whether its operation is another one than the round's. */
#define GHOST(w, p) ((p) + 1 + 128 * OP(w, p))

/* Assertions about the entries, which imply right results. With RESULTS_ONLY a bug has to show in a wrong or missing
 * result. */
#ifdef RESULTS_ONLY
#define INSIDE(condition) skip
#else
#define INSIDE(condition) assert(condition)
#endif

/* One shadow set of one slot: the registers slot_owner, slot_workers, slot_count and slot_state of slots.p4, and the
 * words. */
typedef Entry {
    bit mine; /* the owner word is valid, with job and tag of this job */
    bit done;
    bit op; /* operation or size of the round, which are compared alike */
    byte epoch;
    byte chunk;
    byte workers;
    byte count;
    byte words[WORKERS]; /* ghost: the contribution of each worker in the sum, 0 without one */
    bit mixed /* ghost: more than one contribution of a worker is in the sum */
};

Entry entry[ENTRIES];

/* Workers that were told of a conflict. */
byte told;
bool settled;

/* Temporary variables of single steps, not part of the state. */
hidden byte e, i, j, k, m, oldest, sweeps, own, ahead, workers, count, missing;
hidden mtype order, decision;
hidden byte seen, last, ended;

inline send_first(w, p) {
    /* Positions: a worker that sends p has the result of p - SLOTS, so all workers have sent that one. */
    for (k : 0 .. WORKERS - 1) {
        INSIDE((p) < SLOTS || HAS(sent[k], (p) - SLOTS))
    }
    printf("worker %d sends position %d\n", w, p);
    send(w, p)
}

#ifdef RESTARTS
inline forget(x) {
    entry[x].mine = 0;
    entry[x].done = 0;
    entry[x].op = 0;
    entry[x].epoch = 0;
    entry[x].chunk = 0;
    entry[x].workers = 0;
    entry[x].count = 0;
    for (k : 0 .. WORKERS - 1) {
        entry[x].words[k] = 0
    }
    entry[x].mixed = 0
}
#endif

/* bmv2/slots.p4, `apply` up to the table: the packet of worker w, position p, compared with the entry. */
inline compare(w, p) {
    e = ENTRY(p);
    workers = entry[e].workers;
    count = entry[e].count;
    ahead = (EPOCH(p) + EPOCH_RANGE - entry[e].epoch) % EPOCH_RANGE;
    if
#ifndef BUG_FREE_BIT_IGNORED
    :: !entry[e].mine -> order = NEWER
#endif
#ifdef BUG_PLAIN_EPOCH_ORDER
    :: else ->
        if
        :: EPOCH(p) < entry[e].epoch -> order = OLDER
        :: EPOCH(p) > entry[e].epoch -> order = NEWER
#elif defined(BUG_NO_EPOCH_CHECK)
    :: else ->
        if
#else
    :: else ->
        if
        :: ahead >= HALF_RANGE -> order = OLDER
        :: ahead != 0 && ahead < HALF_RANGE -> order = NEWER
#endif
        :: else ->
            if
            :: CHUNK(p) > entry[e].chunk -> order = NEWER
#ifdef BUG_NO_CHUNK_CHECK
            :: CHUNK(p) <= entry[e].chunk -> order = SAME
#else
            :: CHUNK(p) < entry[e].chunk -> order = OLDER
            :: CHUNK(p) == entry[e].chunk && OP(w, p) != entry[e].op ->
#ifdef BUG_NO_CONFLICT_CHECK
                order = SAME
#else
                order = CONFLICT
#endif
            :: CHUNK(p) == entry[e].chunk && OP(w, p) == entry[e].op -> order = SAME
#endif
            fi
        fi
    fi;
#ifdef BUG_OLDER_ACCEPTED
    if
    :: order == OLDER -> order = NEWER
    :: else
    fi;
#endif
#ifndef BUG_STALE_COUNT
    if
    :: order == NEWER -> count = 0 /* `if (meta.order == ORDER_NEWER) { meta.count = 0; }` */
    :: else
    fi;
#endif
#ifdef BUG_NO_DEDUPE
    seen = false;
#else
    seen = (workers & (1 << w)) != 0;
#endif
#ifdef BUG_COMPLETE_EARLY
    last = count + 2 >= FAN_IN
#else
    last = count + 1 == FAN_IN
#endif
}

/* shared/slots.p4: the entries of table `slot`. */
inline decide_slot() {
    if
    :: order == NEWER && !last -> decision = CLAIM
    :: order == NEWER && last -> decision = CLAIM_AND_COMPLETE
    :: order == OLDER -> decision = DROP_LATE
    :: order == CONFLICT -> decision = REPORT_CONFLICT
#ifdef BUG_NO_REPLAY
    :: order == SAME && entry[e].done -> decision = REPORT_PENDING
#else
    :: order == SAME && entry[e].done -> decision = REPLAY
#endif
#ifdef BUG_REPLAY_INCOMPLETE
    :: order == SAME && !entry[e].done && seen -> decision = REPLAY
#else
    :: order == SAME && !entry[e].done && seen -> decision = REPORT_PENDING
#endif
    :: order == SAME && !entry[e].done && !seen && !last -> decision = CONTRIBUTE
    :: order == SAME && !entry[e].done && !seen && last -> decision = CONTRIBUTE_AND_COMPLETE
    fi
}

/* Ghost: add the contribution of worker w at position p to the sum. */
inline add(w, p) {
    if
    :: entry[e].words[w] != 0 -> entry[e].mixed = 1
    :: else -> entry[e].words[w] = GHOST(w, p)
    fi
}

inline store(w, p) {
    /* The entry is overwritten (INV-3). Its owner must be older, and all workers must have its result. */
    if
    :: entry[e].mine ->
        own = ((entry[e].epoch + EPOCH_RANGE - FIRST_EPOCH) % EPOCH_RANGE) * CHUNKS + entry[e].chunk;
        INSIDE(own < p);
        for (k : 0 .. WORKERS - 1) {
            INSIDE(HAS(done[k], own))
        }
    :: else
    fi;
    entry[e].mine = 1;
#ifndef BUG_DONE_NOT_RESET
    entry[e].done = 0;
#endif
    entry[e].op = OP(w, p);
    entry[e].epoch = EPOCH(p);
    entry[e].chunk = CHUNK(p);
#ifdef BUG_BITMAP_NOT_RESET
    entry[e].workers = workers | (1 << w);
#else
    entry[e].workers = 1 << w;
#endif
#ifndef BUG_COUNT_NOT_RESET
    entry[e].count = 1;
#endif
#ifndef BUG_WORDS_NOT_OVERWRITTEN
    for (k : 0 .. WORKERS - 1) {
        entry[e].words[k] = 0
    }
    entry[e].mixed = 0;
#endif
    add(w, p)
}

inline combine(w, p) {
    /* A late packet changes no newer sum: the contribution belongs to the owner's chunk. */
    INSIDE(EPOCH(p) == entry[e].epoch && CHUNK(p) == entry[e].chunk);
    INSIDE(OP(w, p) == entry[e].op);
    entry[e].workers = workers | (1 << w);
    entry[e].count = count + 1;
    add(w, p)
}

/* The entry has all contributions: its result goes to all workers. */
inline complete(p) {
    entry[e].done = 1;
    answer(p, ALL_WORKERS)
}

/* Send a result, with the words of this moment. It repeats epoch and chunk of the packet. */
inline answer(p, to) {
    /* Exactness (INV-1): every worker's contribution to exactly this epoch and chunk, each once. Agreement (INV-2)
     * follows: all results of a position are the same sum. */
    assert(!entry[e].mixed);
    for (k : 0 .. WORKERS - 1) {
        assert(entry[e].words[k] == (p) + 1)
    }
    /* The result names its contributors. */
    assert(entry[e].workers == ALL_WORKERS);
    for (k : 0 .. WORKERS - 1) {
        if
        :: (to) & (1 << k) -> answered[k] = answered[k] | (1 << (p))
        :: else
        fi
    }
}

/* A contribution reaches the switch: one step, as ingress handles one packet after another. */
inline arrive(w, p) {
    compare(w, p);
    decide_slot();
    printf("position %d of worker %d at the switch: %e\n", p, w, decision);
#ifdef NEVER /* not a property: for runs that show that a decision is reached */
    assert(decision != NEVER);
#endif
    if
    :: decision == CLAIM -> store(w, p)
    :: decision == CLAIM_AND_COMPLETE -> store(w, p); complete(p)
    :: decision == CONTRIBUTE -> combine(w, p)
    :: decision == CONTRIBUTE_AND_COMPLETE -> combine(w, p); complete(p)
    :: decision == REPLAY -> answer(p, 1 << w)
    :: decision == REPORT_PENDING -> skip /* causes retransmissions only: see CheckProgress */
#ifdef BUG_CONFLICT_TO_SENDER
    :: decision == REPORT_CONFLICT -> told = told | (1 << w)
#else
    :: decision == REPORT_CONFLICT -> told = ALL_WORKERS
#endif
    :: decision == DROP_LATE -> skip
    fi
}

/* RoundSequence._take_result: worker w accepts a result of position p for its outstanding position i. */
#ifdef BUG_RESULT_EPOCH_UNCHECKED
#define ACCEPTED(w, i, p) (OUTSTANDING(w, i) && CHUNK(i) == CHUNK(p))
#else
#define ACCEPTED(w, i, p) (OUTSTANDING(w, i) && CHUNK(i) == CHUNK(p) && EPOCH(i) == EPOCH(p))
#endif

inline take(w, p) {
    for (i : 0 .. POSITIONS - 1) {
        if
        :: ACCEPTED(w, i, p) ->
            printf("worker %d has the result of position %d\n", w, i);
            assert(i == p); /* no result of another position is accepted (INV-3) */
            has_result(w, i)
        :: else
        fi
    }
}

/* (`skip`: SPIN requires a statement after a loop in a d_step.)
 *
 * Worker w's packet of position p: it is sent, the network delivers it, and delivers results to the worker. */
proctype Link(byte w; byte p) {
end:
    do
    :: d_step { !settled && MAY_SEND(w, p) -> send_first(w, p); skip }
    :: d_step { !settled && HAS(sent[w], p) -> arrive(w, p); skip }
    :: d_step { !settled && HAS(answered[w], p) -> take(w, p); skip }
    od
}

#ifdef RESTARTS
/* The switch loses its registers, at any moment and any number of times. */
proctype Restart() {
end:
    do
    :: d_step {
        !settled ->
        printf("the switch restarts\n");
        for (i : 0 .. ENTRIES - 1) {
            forget(i)
        };
        skip
    }
    od
}
#endif

#ifdef PROGRESS
/* The pending answer about position p reaches all workers: those that it does not name retransmit. */
inline report_pending(w, p) {
#ifdef BUG_PENDING_TO_ASKER
    missing = (1 << w) & ~entry[ENTRY(p)].workers;
#else
    missing = ALL_WORKERS & ~entry[ENTRY(p)].workers;
#endif
    for (m : 0 .. WORKERS - 1) {
        can_retransmit(m, p);
        if
        :: HAS(missing, m) && able -> arrive(m, p)
        :: else
        fi
    }
}

/* Set `ended` if every worker has sent all positions and has all results. With a conflict no worker can, and all must
 * be told. */
inline check_ended() {
    ended = true;
    for (m : 0 .. WORKERS - 1) {
        if
        :: done[m] == ALL_POSITIONS
        :: else -> ended = false
        fi
    }
#ifdef OP_CONFLICT
    ended = ended || told == ALL_WORKERS
#endif
}

/* Progress. At any moment the network loses all packets in flight. From then on it loses every first transmission. It
 * delivers three kinds of packets: retransmissions of the oldest position that a worker waits for (LossDetector
 * promises no other), the answers to them, and retransmissions that a pending answer asks for. This continues until all
 * workers have ended, or for more sweeps than they can need. It is one step of the model, because it contains no
 * choice. */
#define SWEEPS (3 * WORKERS * POSITIONS) /* to claim an entry, to be told that it is incomplete, to get the result */
#if 3 * WORKERS * EPOCHS * CHUNKS > 255
#error "SWEEPS does not fit a byte"
#endif
proctype CheckProgress() {
end:
    d_step {
        !settled;
        settled = true;
        printf("the network loses all packets in flight\n");
        for (j : 0 .. WORKERS - 1) {
            answered[j] = 0
        }
        told = 0;
        ended = false;
        sweeps = 0;
        do
        :: !ended && sweeps < SWEEPS ->
            sweeps++;
            for (j : 0 .. WORKERS - 1) {
                for (i : 0 .. POSITIONS - 1) {
                    if
                    :: MAY_SEND(j, i) -> send_first(j, i)
                    :: else
                    fi
                };
                if
                :: waiting[j].position[0] != 0 ->
                    oldest = waiting[j].position[0] - 1;
                    arrive(j, oldest);
                    if
                    :: decision == REPORT_PENDING -> report_pending(j, oldest)
                    :: else
                    fi;
                    if
                    :: HAS(answered[j], oldest) -> take(j, oldest)
                    :: else
                    fi
                :: else
                fi
            };
            check_ended()
        :: else -> break
        od;
        assert(ended);
        skip
    }
}
#endif

init {
    atomic {
        byte w, p;
        /* No entry is ever cleared. Entries are new, or hold a chunk of the job's previous incarnation, with another
         * tag: complete or not, with the epoch and chunk that this incarnation starts with. */
        byte left_workers, left_count, left_words;
        bit left_done;
        if
        :: left_workers = 0; left_count = 0
        :: left_workers = ALL_WORKERS; left_count = FAN_IN; left_done = 1; left_words = 255
        :: left_workers = ALL_WORKERS - 1; left_count = FAN_IN - 1; left_words = 255
        fi;
        for (w : 0 .. ENTRIES - 1) {
            entry[w].epoch = FIRST_EPOCH;
            entry[w].workers = left_workers;
            entry[w].count = left_count;
            entry[w].done = left_done;
            for (p : 0 .. WORKERS - 1) {
                entry[w].words[p] = left_words
            }
        }
        for (w : 0 .. WORKERS - 1) {
            for (p : 0 .. POSITIONS - 1) {
                run Link(w, p)
            }
        }
#ifdef RESTARTS
        run Restart();
#endif
#ifdef PROGRESS
        run CheckProgress();
#endif
        w = 0;
        p = 0;
        left_words = 0;
        left_workers = 0;
        left_count = 0;
        left_done = 0
    }
}
