/* SPDX-FileCopyrightText: 2026 the lanesum authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A quorum: any QUORUM of the workers make a result, so several sums are right, and all workers must accept the same
 * one. The switch sums QUORUM contributions and sends them up. The server alone decides, once for each position, and
 * its journal survives restarts. With SCATTERED, chunks have owners, see shards.pml.
 *
 * Abstractions: those of server.pml. The words of a switch entry are its set of workers: slots.pml shows that they
 * agree. `forget_finished` removes state that no later step reads: for a decided position in the journal, the server's
 * entry, and the aggregates in flight, because the result is in flight to all workers; for a position whose result all
 * workers have, the switch's entry and the decision.
 */

#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef QUORUM
#define QUORUM 2
#endif
#ifndef BUG_OUT_OF_STEP
#define IN_STEP
#endif
#include "workers.pml"

#define JOB(w) 0
#define BIT(w) (1 << (w))

typedef Entry {
    byte owner; /* position from 1; 0 when free */
    bit done;
    byte workers
};

Entry entry[ENTRIES];

/* Aggregates that the switch sent up for a position: a set of sets, as in server.pml. */
int ascended[POSITIONS];

/* The results of the quorum and their journal: decided positions from 1, the latest last, and the newest evicted one
 * (host/lanesum/server/quorum_results.py). */
#ifndef JOURNAL
#define JOURNAL (2 * SLOTS)
#endif
byte journal[JOURNAL];
byte horizon;
#ifdef BUG_JOURNAL_AFTER_RESULT
byte unwritten;
#endif

/* Ghost: the set of workers that a position was decided with, 0 without a decision. */
byte decision_about[POSITIONS];

hidden byte e, i, k, had, count, gone, sum_of;
hidden mtype order, decision;

/* `with_words`: whether worker k gets them. */
inline answer(p, to, with_words) {
    for (k : 0 .. WORKERS - 1) {
        if
        :: HAS(to, k) -> give(k, p, (with_words))
        :: else
        fi
    }
}

inline record(number) {
#ifndef BUG_NO_HORIZON
    horizon = (journal[0] > horizon -> journal[0] : horizon);
#endif
    for (k : 1 .. JOURNAL - 1) {
        journal[k - 1] = journal[k]
    };
    journal[JOURNAL - 1] = number
}

/* Agreement (INV-2): there is only one decision about a position. It is in the journal before an answer leaves. */
inline decide(p, set) {
    printf("position %d is decided with workers %d\n", p, set);
    assert(decision_about[p] == 0 || decision_about[p] == (set));
    decision_about[p] = set;
#ifdef BUG_JOURNAL_AFTER_RESULT
    unwritten = (p) + 1
#else
    record((p) + 1)
#endif
}

/* `held`: the workers in the server's entry. */
inline to_members(p, to) {
    assert(held == decision_about[p]);
    answer(p, to, SERVER_GIVES_WORDS(k, p))
}

/* A decided position is answered from the journal, and an evicted one is not decided again. */
inline answer_decided(p, set) {
    for (k : 0 .. JOURNAL - 1) {
        if
#ifndef BUG_DECIDES_TWICE /* a contribution to a decided position is added like any other */
        :: journal[k] == (p) + 1 -> verdict = REPLAY
#endif
        :: else
        fi
    };
    if
#ifdef BUG_JOURNAL_WITHOUT_WORDS
    :: verdict == REPLAY -> answer(p, set, !IS_SCATTERED(p))
#else
    :: verdict == REPLAY -> answer(p, set, SERVER_GIVES_WORDS(k, p))
#endif
    :: verdict != REPLAY && (p) + 1 <= horizon ->
        verdict = REPORT_GONE;
        gone = true;
        assert(decision_about[p] != 0) /* an undecided position is never reported as gone (INV-4) */
    :: else
    fi
}

#define NEEDED QUORUM
#include "server.pml"

inline forget(y) {
    entry[y].owner = 0;
    entry[y].done = 0;
    entry[y].workers = 0
}

inline forget_finished() {
    for (i : 0 .. POSITIONS - 1) {
        had = i + 1 <= horizon;
        for (k : 0 .. JOURNAL - 1) {
            had = had || journal[k] == i + 1
        };
        if
#ifndef BUG_DECIDES_TWICE
        :: had ->
            ascended[i] = 0;
            if
            :: server[ENTRY(i)].owner == i + 1 ->
                server[ENTRY(i)].owner = 0;
                server[ENTRY(i)].done = 0;
                server[ENTRY(i)].partial_sums = 0
            :: else
            fi
#endif
        :: else
        fi;
        had = true;
        for (k : 0 .. WORKERS - 1) {
            had = had && HAS(done[k], i)
        };
        if
        :: had ->
            decision_about[i] = ALL_WORKERS;
            if
            :: entry[ENTRY(i)].owner == i + 1 -> forget(ENTRY(i))
            :: else
            fi
        :: else
        fi
    }
}

inline at_switch(w, p) {
    e = ENTRY(p);
    if
    :: entry[e].owner < (p) + 1 -> order = NEWER; count = 0
    :: entry[e].owner == (p) + 1 -> order = SAME; size_of(entry[e].workers, count)
    :: entry[e].owner > (p) + 1 -> order = OLDER
    fi;
    if
    :: order == NEWER -> decision = (QUORUM == 1 -> CLAIM_AND_COMPLETE : CLAIM)
    :: order == OLDER -> decision = PASS_LATE
    :: order == SAME && entry[e].done && (entry[e].workers & BIT(w)) -> decision = ASCEND_AGAIN
    :: order == SAME && entry[e].done && !(entry[e].workers & BIT(w)) -> decision = PASS_LATE
    :: order == SAME && !entry[e].done && (entry[e].workers & BIT(w)) -> decision = REPORT_PENDING
    :: order == SAME && !entry[e].done && !(entry[e].workers & BIT(w)) ->
        decision = (count + 1 == QUORUM -> CONTRIBUTE_AND_COMPLETE : CONTRIBUTE)
    fi;
    printf("position %d of worker %d at the switch: %e\n", p, w, decision);
#ifdef NEVER
    assert(decision != NEVER);
#endif
    if
    :: order == NEWER ->
        entry[e].owner = (p) + 1;
        entry[e].done = QUORUM == 1;
        entry[e].workers = BIT(w)
    :: decision == CONTRIBUTE || decision == CONTRIBUTE_AND_COMPLETE ->
        entry[e].workers = entry[e].workers | BIT(w);
        entry[e].done = count + 1 == QUORUM
    :: decision == REPORT_PENDING -> asked = asked | (ALL_WORKERS & ~entry[e].workers)
    :: else
    fi;
    if
    :: decision == CLAIM_AND_COMPLETE || decision == CONTRIBUTE_AND_COMPLETE ->
#ifdef BUG_DECIDED_AT_THE_SWITCH
        decide(p, entry[e].workers);
        answer(p, ALL_WORKERS, true)
#else
        ascended[p] = ascended[p] | (1 << entry[e].workers)
#endif
    :: else
    fi
}

/* (`skip`: SPIN requires a statement after a loop in a d_step.) */
proctype Link(byte w; byte p) {
end:
    do
    :: d_step { MAY_SEND(w, p) -> printf("worker %d sends position %d\n", w, p); send(w, p); skip }
    :: d_step { HAS(sent[w], p) -> at_switch(w, p); forget_finished(); skip }
    :: d_step { HAS(sent[w], p) -> at_server(0, p, BIT(w)); forget_finished(); skip }
    :: d_step {
        HAS(answered[w], p) && !HAS(done[w], p) -> /* also before the worker sends: a quorum of others is enough */
        printf("worker %d has the result of position %d\n", w, p);
        has_result(w, p);
        forget_finished();
        skip
    }
    od
}

/* The aggregate of the switch for position p, over these workers. */
proctype Uplink(byte p; byte set) {
end:
    do
    :: d_step { HAS(ascended[p], set) -> at_server(0, p, set); forget_finished(); skip }
    od
}

inline restart_server() {
    forget_server(0);
#ifdef BUG_NO_JOURNAL
    for (i : 0 .. JOURNAL - 1) {
        journal[i] = 0
    };
    horizon = 0;
#endif
#ifdef BUG_JOURNAL_AFTER_RESULT
    unwritten = 0;
#endif
    skip
}

/* The switch or the server restarts, at any moment and any number of times. */
proctype Restart() {
end:
    do
#ifndef SWITCH_STAYS
    :: d_step {
        printf("the switch restarts\n");
        for (i : 0 .. ENTRIES - 1) {
            forget(i)
        };
        skip
    }
#endif
    :: d_step {
        printf("the server restarts\n");
        restart_server();
        skip
    }
#ifdef BUG_JOURNAL_AFTER_RESULT
    :: d_step { unwritten != 0 -> record(unwritten); unwritten = 0; skip }
#endif
    od
}

#ifdef PROGRESS
hidden Entry saved_entry[ENTRIES];
hidden ServerEntry saved_server[ENTRIES];
hidden int saved_ascended[POSITIONS];
hidden byte saved_decision_about[POSITIONS], saved_journal[JOURNAL], saved_horizon;

inline save() {
    saved_horizon = horizon;
    for (i : 0 .. JOURNAL - 1) {
        saved_journal[i] = journal[i]
    };
    for (i : 0 .. POSITIONS - 1) {
        saved_ascended[i] = ascended[i];
        saved_decision_about[i] = decision_about[i]
    };
    for (i : 0 .. ENTRIES - 1) {
        saved_entry[i].owner = entry[i].owner;
        saved_entry[i].done = entry[i].done;
        saved_entry[i].workers = entry[i].workers;
        saved_server[i].owner = server[i].owner;
        saved_server[i].done = server[i].done;
        saved_server[i].partial_sums = server[i].partial_sums
    }
}

inline restore() {
    horizon = saved_horizon;
    for (i : 0 .. JOURNAL - 1) {
        journal[i] = saved_journal[i]
    };
    for (i : 0 .. POSITIONS - 1) {
        ascended[i] = saved_ascended[i];
        decision_about[i] = saved_decision_about[i]
    };
    for (i : 0 .. ENTRIES - 1) {
        entry[i].owner = saved_entry[i].owner;
        entry[i].done = saved_entry[i].done;
        entry[i].workers = saved_entry[i].workers;
        server[i].owner = saved_server[i].owner;
        server[i].done = saved_server[i].done;
        server[i].partial_sums = saved_server[i].partial_sums
    }
}

/* Routes of packets without BYPASS, three bits for each worker: to the switch; past it to the server; lost; alternately
 * to the switch and to the server; or the worker has stopped for good. One more bit: aggregates of the switch are lost.
 * Workers are interchangeable, so one order of their routes is enough; QUORUM of them live. */
#define ROUTES (1 << (3 * WORKERS + 1))
#define ROUTE_OF(w) ((route >> (3 * (w))) & 7)
#define STOPPED 4
#define LIVE(w) (ROUTE_OF(w) < STOPPED)
#define UPLINK_BROKEN HAS(route, 3 * WORKERS)
#if WORKERS == 3 && QUORUM == 2
#define IN_ORDER (ROUTE_OF(0) <= ROUTE_OF(1) && ROUTE_OF(1) <= ROUTE_OF(2))
#define WATCHED (IN_ORDER && ROUTE_OF(1) < STOPPED && ROUTE_OF(2) <= STOPPED)
#else
#error "routes are for QUORUM 2 of 3 workers"
#endif

#define check_route() skip

inline deliver(w, p, bypass) {
    sum_of = BIT(w);
    gone = false;
    if
    :: (bypass) || ROUTE_OF(w) == 1 || (ROUTE_OF(w) == 3 && tries[w] % 2 == 0) -> decision = PASS_LATE
    :: !(bypass) && ROUTE_OF(w) == 2 -> decision = DROP_LATE
    :: else ->
        at_switch(w, p);
        if
        :: decision == ASCEND_AGAIN || decision == CONTRIBUTE_AND_COMPLETE ->
            sum_of = entry[e].workers;
            decision = (UPLINK_BROKEN -> DROP_LATE : ASCEND_AGAIN)
        :: else
        fi
    fi;
    if
    :: decision == PASS_LATE || decision == ASCEND_AGAIN -> at_server(0, p, sum_of)
    :: else
    fi
}

#define GIVEN_UP gone
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
            size_of(w, count);
            for (p : 0 .. POSITIONS - 1) {
                if
                :: count == QUORUM -> run Uplink(p, w)
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
