/* SPDX-FileCopyrightText: 2026 the lanesum authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two levels: a switch in every rack sums its workers and sends the sum up, the upper switch sums racks, and the server
 * behind them sums contributions that passed a switch: of whole racks and of single workers. With SCATTERED, chunks
 * have owners, see shards.pml: copies for racks stay whole, and the switch of a rack shortens the copies of its workers.
 *
 * Abstractions: those of server.pml. The words of a rack's entry are its set of workers: slots.pml shows that they
 * agree. Each answer that a rack switch hands down may reach any of its workers. `forget_finished` frees every entry
 * whose result all workers have, because no later step reads it.
 */

#ifndef WORKERS
#define WORKERS 3 /* two in rack 0, the others in rack 1 */
#endif
#include "workers.pml"

#define RACKS 2
#define JOB(w) 0
#define BIT(w) (1 << (w))
#define RACK(w) ((w) / 2)
#define MEMBERS(r) (((r) == 0) * 3 + ((r) == 1) * (ALL_WORKERS - 3))
#define IN_RACK(r, p) ((r) * ENTRIES + ENTRY(p))

typedef RackEntry {
    byte owner; /* position from 1; 0 when free */
    bit done;
    byte workers
};

typedef UpperEntry {
    byte owner;
    bit done;
    byte racks;
    byte count;
    byte words; /* ghost: the workers in the sum */
    bit mixed /* ghost: a worker is in it more than once */
};

RackEntry entry[RACKS * ENTRIES];
UpperEntry upper[ENTRIES];

/* Aggregates that rack switches sent up for a position: a set of sets of workers, as in server.pml. */
int ascended[POSITIONS];

hidden byte e, u, i, k, had, from, sum_of, allowed;
hidden mtype order, decision, upper_decision;

/* `with_words`: whether worker k gets them. */
inline answer(p, to, with_words) {
    for (k : 0 .. WORKERS - 1) {
        if
        :: HAS(to, k) -> give(k, p, (with_words))
        :: else
        fi
    }
}

#define to_members(p, to) answer(p, to, SERVER_GIVES_WORDS(k, p))
#define answer_decided(p, set) skip
#define decide(p, set) assert((set) == ALL_WORKERS)
#include "server.pml"

inline forget(y) {
    entry[y].owner = 0;
    entry[y].done = 0;
    entry[y].workers = 0
}

inline forget_upper(y) {
    upper[y].owner = 0;
    upper[y].done = 0;
    upper[y].racks = 0;
    upper[y].count = 0;
    upper[y].words = 0;
    upper[y].mixed = 0
}

inline forget_finished() {
    for (i : 0 .. POSITIONS - 1) {
        had = true;
        for (k : 0 .. WORKERS - 1) {
            had = had && HAS(done[k], i)
        };
        if
        :: had ->
            ascended[i] = 0;
            for (k : 0 .. RACKS - 1) {
                if
                :: entry[IN_RACK(k, i)].owner == i + 1 -> forget(IN_RACK(k, i))
                :: else
                fi
            };
            if
            :: upper[ENTRY(i)].owner == i + 1 -> forget_upper(ENTRY(i))
            :: else
            fi;
            if
            :: server[ENTRY(i)].owner == i + 1 ->
                server[ENTRY(i)].owner = 0;
                server[ENTRY(i)].done = 0;
                server[ENTRY(i)].partial_sums = 0
            :: else
            fi
        :: else
        fi
    }
}

#ifdef BUG_RACK_ASCENDS_EARLY
#define COMPLETE(r, workers) true
#else
#define COMPLETE(r, workers) ((workers) == MEMBERS(r))
#endif

/* A rack switch has role ASCEND: it sends a complete sum up, and again for every duplicate. */
inline at_rack(w, p) {
    e = IN_RACK(RACK(w), p);
    if
    :: entry[e].owner < (p) + 1 -> order = NEWER
    :: entry[e].owner == (p) + 1 -> order = SAME
    :: entry[e].owner > (p) + 1 -> order = OLDER
    fi;
    if
    :: order == NEWER -> decision = (COMPLETE(RACK(w), BIT(w)) -> CLAIM_AND_COMPLETE : CLAIM)
    :: order == OLDER -> decision = DROP_LATE
    :: order == SAME && entry[e].done && (entry[e].workers & BIT(w)) ->
#ifdef BUG_DUPLICATE_DOES_NOT_ASCEND
        decision = REPORT_PENDING
#else
        decision = ASCEND_AGAIN
#endif
    :: order == SAME && entry[e].done && !(entry[e].workers & BIT(w)) -> decision = PASS_LATE
    :: order == SAME && !entry[e].done && (entry[e].workers & BIT(w)) -> decision = REPORT_PENDING
    :: order == SAME && !entry[e].done && !(entry[e].workers & BIT(w)) ->
        decision = (COMPLETE(RACK(w), entry[e].workers | BIT(w)) -> CONTRIBUTE_AND_COMPLETE : CONTRIBUTE)
    fi;
    printf("position %d of worker %d at its rack: %e\n", p, w, decision);
#ifdef NEVER
    assert(decision != NEVER);
#endif
    if
    :: order == NEWER ->
        entry[e].owner = (p) + 1;
        entry[e].done = decision == CLAIM_AND_COMPLETE;
        entry[e].workers = BIT(w)
    :: decision == CONTRIBUTE || decision == CONTRIBUTE_AND_COMPLETE ->
        entry[e].workers = entry[e].workers | BIT(w);
        entry[e].done = decision == CONTRIBUTE_AND_COMPLETE
    :: decision == REPORT_PENDING -> asked = asked | (MEMBERS(RACK(w)) & ~entry[e].workers)
    :: else
    fi;
    if
    :: decision == CLAIM_AND_COMPLETE || decision == CONTRIBUTE_AND_COMPLETE ->
        ascended[p] = ascended[p] | (1 << entry[e].workers)
    :: else
    fi
}

#ifdef BUG_UPPER_SHORTENS /* copies for racks are shortened like those for workers */
#define WORDS_FROM_UPPER(w, p) (!IS_SCATTERED(p))
#elif defined(BUG_REPLAY_WITHOUT_WORDS) /* a sum leaves with its words once */
#define WORDS_FROM_UPPER(w, p) (!IS_SCATTERED(p) || (upper_decision != REPLAY && NAMED(w)))
#else
#define WORDS_FROM_UPPER(w, p) NAMED(w)
#endif

/* A rack's sum, over these workers, at the upper switch. */
inline at_upper(r, p, set) {
    u = ENTRY(p);
    if
    :: upper[u].owner < (p) + 1 -> upper_decision = CLAIM
    :: upper[u].owner > (p) + 1 -> upper_decision = DROP_LATE
    :: upper[u].owner == (p) + 1 && upper[u].done -> upper_decision = REPLAY
#ifdef BUG_RACK_COUNTED_TWICE
    :: upper[u].owner == (p) + 1 && !upper[u].done ->
#else
    :: upper[u].owner == (p) + 1 && !upper[u].done && HAS(upper[u].racks, r) -> upper_decision = REPORT_PENDING
    :: upper[u].owner == (p) + 1 && !upper[u].done && !HAS(upper[u].racks, r) ->
#endif
        upper_decision = (upper[u].count + 1 == RACKS -> CONTRIBUTE_AND_COMPLETE : CONTRIBUTE)
    fi;
    printf("position %d of workers %d at the upper switch: %e\n", p, set, upper_decision);
    if
    :: upper_decision == CLAIM ->
        forget_upper(u);
        upper[u].owner = (p) + 1
    :: else
    fi;
    if
    :: upper_decision == CLAIM || upper_decision == CONTRIBUTE || upper_decision == CONTRIBUTE_AND_COMPLETE ->
        upper[u].racks = upper[u].racks | (1 << (r));
        upper[u].count = upper[u].count + 1;
        upper[u].mixed = upper[u].mixed || (upper[u].words & (set)) != 0;
        upper[u].words = upper[u].words | (set);
        upper[u].done = upper_decision == CONTRIBUTE_AND_COMPLETE
    :: upper_decision == REPORT_PENDING ->
#ifdef BUG_UPPER_PENDING_TO_THE_ASKING_RACK
        skip
#else
        asked = asked | (ALL_WORKERS & ~MEMBERS(r))
#endif
    :: else
    fi;
    if
    :: upper_decision == CONTRIBUTE_AND_COMPLETE || upper_decision == REPLAY ->
        /* Exactness (INV-1): every worker of every rack, each once. */
        assert(upper[u].words == ALL_WORKERS && !upper[u].mixed);
        if
        :: upper_decision == REPLAY -> answer(p, MEMBERS(r), WORDS_FROM_UPPER(k, p))
        :: else -> answer(p, ALL_WORKERS, WORDS_FROM_UPPER(k, p))
        fi
    :: else
    fi
}

/* (`skip`: SPIN requires a statement after a loop in a d_step.) */
proctype Link(byte w; byte p) {
end:
    do
    :: d_step { MAY_SEND(w, p) -> printf("worker %d sends position %d\n", w, p); send(w, p); skip }
    :: d_step { HAS(sent[w], p) -> at_rack(w, p); forget_finished(); skip }
#ifndef SWITCHES_ALONE
    :: d_step { HAS(sent[w], p) -> at_server(0, p, BIT(w)); forget_finished(); skip }
#endif
#ifdef BUG_SINGLE_TAKEN_FOR_THE_RACK /* a contribution that passed the rack switch, at the upper one */
    :: d_step {
        HAS(sent[w], p) ->
        name = RIGHT_NAME(p);
        at_upper(RACK(w), p, BIT(w));
        forget_finished();
        skip
    }
#endif
    :: d_step {
        HAS(answered[w], p) && OUTSTANDING(w, p) ->
        printf("worker %d has the result of position %d\n", w, p);
        has_result(w, p);
        forget_finished();
        skip
    }
    od
}

/* The aggregate of a rack switch for position p, over these workers: to the upper switch, or past it to the server. */
proctype Uplink(byte p; byte set) {
end:
    do
    :: d_step {
        HAS(ascended[p], set) ->
        name = RIGHT_NAME(p);
        at_upper((set & 3) == 0, p, set);
        forget_finished();
        skip
    }
#ifdef MISNAMED
    :: d_step {
        HAS(ascended[p], set) && IS_SCATTERED(p) ->
        name = WRONG_NAME(p);
        at_upper((set & 3) == 0, p, set);
        forget_finished();
        skip
    }
#endif
#ifndef SWITCHES_ALONE
    :: d_step { HAS(ascended[p], set) -> at_server(0, p, set); forget_finished(); skip }
#endif
    od
}

/* Any switch or the server loses its state, at any moment and any number of times. */
proctype Restart() {
end:
    do
    :: d_step {
        printf("the switch of rack 0 restarts\n");
        for (i : 0 .. ENTRIES - 1) {
            forget(i)
        };
        skip
    }
    :: d_step {
        printf("the switch of rack 1 restarts\n");
        for (i : ENTRIES .. 2 * ENTRIES - 1) {
            forget(i)
        };
        skip
    }
    :: d_step {
        printf("the upper switch restarts\n");
        for (i : 0 .. ENTRIES - 1) {
            forget_upper(i)
        };
        skip
    }
    :: d_step {
        printf("the server restarts\n");
        forget_server(0);
        skip
    }
    od
}

#ifdef PROGRESS
hidden RackEntry saved_entry[RACKS * ENTRIES];
hidden UpperEntry saved_upper[ENTRIES];
hidden ServerEntry saved_server[ENTRIES];
hidden int saved_ascended[POSITIONS];

inline save() {
    for (i : 0 .. POSITIONS - 1) {
        saved_ascended[i] = ascended[i]
    };
    for (i : 0 .. RACKS * ENTRIES - 1) {
        saved_entry[i].owner = entry[i].owner;
        saved_entry[i].done = entry[i].done;
        saved_entry[i].workers = entry[i].workers
    };
    for (i : 0 .. ENTRIES - 1) {
        saved_upper[i].owner = upper[i].owner;
        saved_upper[i].done = upper[i].done;
        saved_upper[i].racks = upper[i].racks;
        saved_upper[i].count = upper[i].count;
        saved_upper[i].words = upper[i].words;
        saved_upper[i].mixed = upper[i].mixed;
        saved_server[i].owner = server[i].owner;
        saved_server[i].done = server[i].done;
        saved_server[i].partial_sums = server[i].partial_sums
    }
}

inline restore() {
    for (i : 0 .. POSITIONS - 1) {
        ascended[i] = saved_ascended[i]
    };
    for (i : 0 .. RACKS * ENTRIES - 1) {
        entry[i].owner = saved_entry[i].owner;
        entry[i].done = saved_entry[i].done;
        entry[i].workers = saved_entry[i].workers
    };
    for (i : 0 .. ENTRIES - 1) {
        upper[i].owner = saved_upper[i].owner;
        upper[i].done = saved_upper[i].done;
        upper[i].racks = saved_upper[i].racks;
        upper[i].count = saved_upper[i].count;
        upper[i].words = saved_upper[i].words;
        upper[i].mixed = saved_upper[i].mixed;
        server[i].owner = saved_server[i].owner;
        server[i].done = saved_server[i].done;
        server[i].partial_sums = saved_server[i].partial_sums
    }
}

/* Routes, two bits for each worker and then for each rack: to the next switch; past it to the server; lost. At most two
 * do not go to the next switch: more only involve the server sooner. */
#ifdef SWITCHES_ALONE /* no packet reaches the server */
#define ROUTES 1
#else
#define ROUTES (1 << (2 * (WORKERS + RACKS)))
#endif
#define ROUTE_OF(n) ((route >> (2 * (n))) & 3)
#define WATCHED allowed

inline check_route() {
    had = 0;
    allowed = true;
    for (i : 0 .. WORKERS + RACKS - 1) {
        allowed = allowed && ROUTE_OF(i) < 3;
        had = had + (ROUTE_OF(i) > 0)
    };
    allowed = allowed && had <= 2
}
#define LIVE(w) true

inline deliver(w, p, bypass) {
    sum_of = 0;
    from = 3;
    if
    :: (bypass) || ROUTE_OF(w) == 1 -> sum_of = BIT(w); from = 1
    :: !(bypass) && ROUTE_OF(w) == 2
    :: else ->
        at_rack(w, p);
        if
        :: decision == ASCEND_AGAIN || decision == CLAIM_AND_COMPLETE || decision == CONTRIBUTE_AND_COMPLETE ->
            sum_of = entry[e].workers;
            from = ROUTE_OF(WORKERS + RACK(w))
        :: else
        fi
    fi;
    if
    :: from == 0 -> name = RIGHT_NAME(p); at_upper(RACK(w), p, sum_of)
    :: from == 1 -> at_server(0, p, sum_of)
    :: else
    fi
}

#include "progress.pml"
#endif

init {
    atomic {
        byte w, p;
        for (w : 0 .. WORKERS - 1) {
            for (p : 0 .. POSITIONS - 1) {
                run Link(w, p)
            }
        };
        for (w : 1 .. ALL_WORKERS) {
            for (p : 0 .. POSITIONS - 1) {
                if
                :: (w & 3) == 0 || (w & ~3) == 0 -> run Uplink(p, w)
                :: else
                fi
            }
        };
        run Restart();
#ifdef PROGRESS
        run CheckProgress();
#endif
        w = 0;
        p = 0
    }
}
