/* SPDX-FileCopyrightText: 2026 the lanesum authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two aggregation points: a switch, and the server behind it. Any packet may go to either: collided, refused, routed by
 * a switch without tables or past it, or sent with BYPASS. With JOBS 2, two jobs share the entries of the switch. With
 * SCATTERED and GATHERED, chunks have owners, see shards.pml.
 *
 * Abstractions: those of server.pml, also for the switch. An entry whose result all its workers have counts as free
 * (`forget_finished`): a packet that would claim it claims a free one too, and no worker waits for its answers.
 * slots.pml has both.
 */

#ifndef JOBS
#define JOBS 1
#endif
#define PARTIES (JOBS * WORKERS)
#include "workers.pml"

#define JOB(w) ((w) / WORKERS)
#define BIT(w) (1 << ((w) % WORKERS))
#define OWNER(job, p) ((job) * POSITIONS + (p) + 1)
#define JOB_OF(owner) (((owner) - 1) / POSITIONS)
#define POSITION_OF(owner) (((owner) - 1) % POSITIONS)

typedef Entry {
    byte owner; /* job and position, from 1; 0 when free */
    bit done;
    byte workers;
    byte words[WORKERS] /* ghost: the contribution of each worker in the sum, as an owner */
};

Entry entry[ENTRIES];

hidden byte e, i, k, had;
hidden mtype order, decision;

/* `with_words`: whether worker k gets them. */
inline answer_all(job, p, to, with_words) {
    for (k : 0 .. WORKERS - 1) {
        if
        :: HAS(to, k) -> give((job) * WORKERS + k, p, (with_words))
        :: else
        fi
    }
}

#define to_members(p, to) answer_all(x / ENTRIES, p, to, SERVER_GIVES_WORDS(k, p))
#define answer_decided(p, set) skip
#ifdef BUG_HEADERS_NOT_AWAITED /* the owner's packet alone completes a chunk of a gathered round */
#define NEEDED (IS_GATHERED(p) && HAS(held, SHARD_OWNER(p)) -> 1 : WORKERS)
#define decide(p, set) skip
#else
#define decide(p, set) assert((set) == ALL_WORKERS)
#endif
#include "server.pml"

/* Set `result` if all workers of the job have the owner's result. */
inline all_have(whose, result) {
    result = true;
    for (k : 0 .. WORKERS - 1) {
        result = result && HAS(done[JOB_OF(whose) * WORKERS + k], POSITION_OF(whose))
    }
}

inline forget(y) {
    entry[y].owner = 0;
    entry[y].done = 0;
    entry[y].workers = 0;
#ifndef BUG_SWITCH_COUNTS_HEADERS /* the first packet of a chunk may have no words that overwrite older ones */
    for (k : 0 .. WORKERS - 1) {
        entry[y].words[k] = 0
    }
#endif
}

inline forget_finished() {
    for (i : 0 .. ENTRIES - 1) {
        if
        :: entry[i].owner != 0 ->
            all_have(entry[i].owner, had);
            if
            :: had && (entry[i].done || JOBS == 1) -> forget(i)
            :: else
            fi
        :: else
        fi
    };
    for (i : 0 .. JOBS * ENTRIES - 1) {
        if
        :: server[i].owner != 0 ->
            all_have((i / ENTRIES) * POSITIONS + server[i].owner, had);
            if
            :: had ->
                server[i].owner = 0;
                server[i].done = 0;
                server[i].partial_sums = 0
            :: else
            fi
        :: else
        fi
    }
}

/* Send a result, with the words of this moment: of this position and job, and of no other (INV-1, INV-5). */
inline answer(job, p, to, with_words) {
    for (k : 0 .. WORKERS - 1) {
        assert(entry[e].words[k] == (SENDS_WORDS(k, p) -> OWNER(job, p) : 0))
    };
    assert(entry[e].workers == ALL_WORKERS);
    answer_all(job, p, to, with_words)
}

inline add(w, p) {
    entry[e].workers = entry[e].workers | BIT(w);
    if
    :: SENDS_WORDS(w, p) ->
#ifdef BUG_SWITCH_COUNTS_HEADERS
        if
        :: order == NEWER ->
            for (k : 0 .. WORKERS - 1) {
                entry[e].words[k] = 0
            }
        :: else
        fi;
#endif
        entry[e].words[(w) % WORKERS] = (entry[e].words[(w) % WORKERS] == 0 -> OWNER(JOB(w), p) : 255)
    :: else
    fi
}

/* `over`: the lease of another job's entry has ended. */
inline at_switch(w, p, over) {
    e = ENTRY(p);
    if
    :: entry[e].owner == 0 -> order = NEWER
#ifndef BUG_JOB_UNCHECKED
    :: entry[e].owner != 0 && JOB_OF(entry[e].owner) != JOB(w) ->
        if
        :: entry[e].done || over -> order = NEWER
        :: else -> order = FOREIGN
        fi
    :: entry[e].owner != 0 && JOB_OF(entry[e].owner) == JOB(w) ->
#else
    :: else ->
#endif
        if
        :: POSITION_OF(entry[e].owner) < (p) -> order = NEWER
        :: POSITION_OF(entry[e].owner) == (p) -> order = SAME
        :: POSITION_OF(entry[e].owner) > (p) -> order = OLDER
        fi
    fi;
    if
    :: order == NEWER -> decision = (WORKERS == 1 -> CLAIM_AND_COMPLETE : CLAIM)
    :: order == FOREIGN -> decision = COLLIDE
    :: order == OLDER -> decision = DROP_LATE
    :: order == SAME && entry[e].done -> decision = REPLAY
    :: order == SAME && !entry[e].done && (entry[e].workers & BIT(w)) -> decision = REPORT_PENDING
    :: order == SAME && !entry[e].done && !(entry[e].workers & BIT(w)) ->
        decision = ((entry[e].workers | BIT(w)) == ALL_WORKERS -> CONTRIBUTE_AND_COMPLETE : CONTRIBUTE)
    fi;
    printf("position %d of worker %d at the switch: %e\n", p, w, decision);
#ifdef NEVER
    assert(decision != NEVER);
#endif
    if
    :: order == NEWER ->
#ifndef BUG_WORDS_OF_ANOTHER_JOB_KEPT
        forget(e);
#endif
        entry[e].owner = OWNER(JOB(w), p);
        entry[e].done = 0;
        entry[e].workers = 0;
        add(w, p)
    :: decision == CONTRIBUTE || decision == CONTRIBUTE_AND_COMPLETE -> add(w, p)
    :: else
    fi;
    if
    :: decision == CLAIM_AND_COMPLETE || decision == CONTRIBUTE_AND_COMPLETE ->
        entry[e].done = 1;
        answer(JOB(w), p, ALL_WORKERS, NAMED(k))
    :: decision == REPLAY -> answer(JOB(w), p, BIT(w), true)
#ifdef BUG_HEADER_BEFORE_COMPLETION /* a contribution is answered at once, if its sender needs no sum */
    :: (decision == CLAIM || decision == CONTRIBUTE) && !GETS_WORDS(w, p) -> give(w, p, false)
#endif
    :: decision == REPORT_PENDING -> asked = asked | (ALL_WORKERS & ~entry[e].workers)
    :: else /* COLLIDE: not dropped but routed to the server (INV-4), where any packet may arrive */
    fi
}

/* (`skip`: SPIN requires a statement after a loop in a d_step.) */
proctype Link(byte w; byte p) {
end:
    do
    :: d_step {
        MAY_SEND(w, p) ->
        printf("worker %d sends position %d\n", w, p);
        send(w, p);
#ifdef BUG_OTHERS_DO_NOT_WAIT /* a worker that needs no words frees the slot when it has sent its packet */
        if
        :: !GETS_WORDS(w, p) -> has_result(w, p)
        :: else
        fi;
#endif
        skip
    }
    :: d_step {
        HAS(sent[w], p) && FOR_SWITCHES(w, p) ->
        name = RIGHT_NAME(p);
        at_switch(w, p, false);
        forget_finished();
        skip
    }
#ifdef MISNAMED
    :: d_step { HAS(sent[w], p) && IS_SCATTERED(p) -> name = 0; at_switch(w, p, false); forget_finished(); skip }
    :: d_step {
        HAS(sent[w], p) && IS_SCATTERED(p) ->
        name = WRONG_NAME(p);
        at_switch(w, p, false);
        forget_finished();
        skip
    }
#endif
#if JOBS > 1
    :: d_step {
        HAS(sent[w], p) && FOR_SWITCHES(w, p) ->
        name = RIGHT_NAME(p);
        at_switch(w, p, true);
        forget_finished();
        skip
    }
#endif
    :: d_step { HAS(sent[w], p) -> at_server(JOB(w), p, BIT(w)); forget_finished(); skip }
    :: d_step {
        HAS(answered[w], p) && OUTSTANDING(w, p) ->
        printf("worker %d has the result of position %d\n", w, p);
        has_result(w, p);
        forget_finished();
        skip
    }
    od
}

/* The switch or the server loses its state, at any moment and any number of times. */
proctype Restart() {
end:
    do
    :: d_step {
        printf("the switch restarts\n");
        for (i : 0 .. ENTRIES - 1) {
            forget(i)
        };
        skip
    }
    :: d_step {
        printf("the server restarts\n");
        for (i : 0 .. JOBS - 1) {
            forget_server(i)
        };
        skip
    }
    od
}

#ifdef PROGRESS
hidden Entry saved_entry[ENTRIES];
hidden ServerEntry saved_server[JOBS * ENTRIES];

inline save() {
    for (i : 0 .. ENTRIES - 1) {
        saved_entry[i].owner = entry[i].owner;
        saved_entry[i].done = entry[i].done;
        saved_entry[i].workers = entry[i].workers;
        for (k : 0 .. WORKERS - 1) {
            saved_entry[i].words[k] = entry[i].words[k]
        }
    };
    for (i : 0 .. JOBS * ENTRIES - 1) {
        saved_server[i].owner = server[i].owner;
        saved_server[i].done = server[i].done;
        saved_server[i].partial_sums = server[i].partial_sums
    }
}

inline restore() {
    for (i : 0 .. ENTRIES - 1) {
        entry[i].owner = saved_entry[i].owner;
        entry[i].done = saved_entry[i].done;
        entry[i].workers = saved_entry[i].workers;
        for (k : 0 .. WORKERS - 1) {
            entry[i].words[k] = saved_entry[i].words[k]
        }
    };
    for (i : 0 .. JOBS * ENTRIES - 1) {
        server[i].owner = saved_server[i].owner;
        server[i].done = saved_server[i].done;
        server[i].partial_sums = saved_server[i].partial_sums
    }
}

/* Routes of packets without BYPASS, one digit each: to the switch; past it to the server; lost; alternately to the
 * switch and to the server. One job: a digit for each worker. Two jobs: a digit for each job, a bit for ended leases,
 * and a bit for each job that has stopped. */
#define DIGIT(n) ((route >> (2 * (n))) & 3)
#if JOBS == 1
#define ROUTES (1 << (2 * WORKERS))
#define ROUTE_OF(w) DIGIT(w)
#define OVER false
#define LIVE(w) true
#define WATCHED true
#else
#define ROUTES 128
#define ROUTE_OF(w) DIGIT(JOB(w))
#define OVER ((route >> 4) & 1)
#define LIVE(w) (!((route >> (5 + JOB(w))) & 1))
#define WATCHED true
#endif

#define check_route() skip

inline deliver(w, p, bypass) {
    if
    :: (bypass) || IS_GATHERED(p) || ROUTE_OF(w) == 1 || (ROUTE_OF(w) == 3 && tries[w] % 2 == 0) -> decision = COLLIDE
    :: !(bypass) && !IS_GATHERED(p) && ROUTE_OF(w) == 2 -> decision = DROP_LATE
    :: else -> name = RIGHT_NAME(p); at_switch(w, p, OVER)
    fi;
    if
    :: decision == COLLIDE -> at_server(JOB(w), p, BIT(w))
    :: else
    fi
}

#include "progress.pml"
#endif

init {
    atomic {
        byte w, p;
        for (w : 0 .. PARTIES - 1) {
            for (p : 0 .. POSITIONS - 1) {
                run Link(w, p)
            }
        }
        run Restart();
#ifdef PROGRESS
        run CheckProgress();
#endif
        w = 0;
        p = 0
    }
}
