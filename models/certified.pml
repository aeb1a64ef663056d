/* SPDX-FileCopyrightText: 2026 the lanesum authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Certified rounds: a switch and the server behind it, whose words and sets of contributors change, and workers that
 * check every result. At most FLIPS times a bit changes: in a packet on its way, in the words of an entry, or in the
 * contributors of the switch; with HEADERS also the chunk in a header. With BAD_SWITCH or BAD_SERVER each sum is wrong.
 * With SCATTERED the owner of a chunk alone checks its sum, see shards.pml.
 *
 * Abstractions: those of fallback.pml. The check word is perfect, so the model does no arithmetic: a sum is right if no
 * bit of its words has changed, and if it has the contribution of each worker to the chunk that the header names, once.
 * docs/model.md has the names in the code.
 */

#include "workers.pml"

#ifndef FLIPS
#define FLIPS 1
#endif
#define MAKERS 2
#define SWITCH 0
#define SERVER 1
#define FAILED_CHUNKS 2 /* failed chunks after which the switch is left out; MAX_FAILED of failing_devices.py is 3 */

#define OWNER(p) ((p) + 1)
#define BIT(w) (1 << (w))
#define JOB(w) 0

typedef Entry {
    byte owner; /* position, from 1; 0 when free */
    bit done;
    byte workers;
    byte words[WORKERS]; /* ghost: position of the contribution of each worker in the sum, from 1; 255 for several */
    bit altered /* a bit of the words has changed */
};

/* The entries of the switch, and those of the server behind them. */
Entry entry[MAKERS * ENTRIES];

/* The second sum of an entry of the server: contributions of workers that refuse its result. */
typedef Again {
    byte workers;
    bit altered
};
Again again[ENTRIES];

/* Wrong results on the network, by maker and worker: sets of positions. Right ones are in `answered`, and `made` has
 * their maker. `slipped`: wrong results that pass the check, which only a seeded bug lets happen. */
typedef Results {
    int has[WORKERS]
};
Results wrong[MAKERS], made[MAKERS];
int slipped[WORKERS];

/* Positions of which a worker refused a result of the switch, and of the server. The first have BYPASS from then on,
 * the others OVERFLOW too. */
typedef Refusals {
    int has[WORKERS]
};
Refusals refused[MAKERS];

byte flips = FLIPS;
#ifdef LEAVE_OUT
/* Failed results that a worker has not reported, positions that count for the switch, and whether it is left out.
 * `blamed`, ghost: positions with a failed result of the switch. */
int unreported[WORKERS], counted, blamed;
bit left_out;
byte reports; /* only for a seeded bug */
#else
#define left_out false
#endif

hidden byte e, i, k, had, asked, asked_bypass, x, chunks;
hidden byte replayed, right, all_words;
hidden mtype order, decision;

inline forget(y) {
    entry[y].owner = 0;
    entry[y].done = 0;
    entry[y].workers = 0;
    entry[y].altered = 0;
    for (k : 0 .. WORKERS - 1) {
        entry[y].words[k] = 0
    };
    if
    :: (y) >= ENTRIES -> again[(y) - ENTRIES].workers = 0; again[(y) - ENTRIES].altered = 0
    :: else
    fi
}

/* An entry whose result all workers have counts as free: a packet that would claim it claims a free one too. */
inline forget_finished() {
    for (i : 0 .. MAKERS * ENTRIES - 1) {
        if
        :: entry[i].owner != 0 ->
            had = true;
            for (k : 0 .. WORKERS - 1) {
                had = had && HAS(done[k], entry[i].owner - 1)
            };
            if
            :: had -> forget(i)
            :: else
            fi
        :: else
        fi
    }
}

#ifdef LEAVE_OUT
inline count_of(set) {
    chunks = 0;
    for (k : 0 .. POSITIONS - 1) {
        chunks = chunks + HAS(set, k)
    }
}

/* FailingDevices.add: the controller receives the report of a failed result of the switch. A chunk counts once, from all workers. */
inline report(w, p) {
    unreported[w] = unreported[w] & ~(1 << (p));
    counted = counted | (1 << (p));
    reports++;
    count_of(counted);
    if
#ifdef BUG_COUNTED_BY_REPORT
    :: reports >= FAILED_CHUNKS -> left_out = true
#elif defined(BUG_SWITCH_STAYS)
    :: false
#else
    :: chunks >= FAILED_CHUNKS -> left_out = true
#endif
    :: else
    fi;
#ifndef BUG_COUNTED_BY_REPORT
    reports = 0;
#endif
    printf("worker %d reports position %d, left out: %d\n", w, p, left_out);
    /* A switch is left out for results of its own, of that many chunks. */
    assert(!left_out || chunks >= FAILED_CHUNKS);
    for (k : 0 .. POSITIONS - 1) {
        assert(!HAS(counted, k) || HAS(blamed, k))
    }
}
#endif

/* Send the result of entry e, which names position p. */
inline answer(maker, p, to) {
    all_words = true;
    for (k : 0 .. WORKERS - 1) {
        all_words = all_words && entry[e].words[k] == OWNER(p)
    };
    right = all_words && !entry[e].altered;
    for (k : 0 .. WORKERS - 1) {
        if
        :: !HAS(to, k) || HAS(done[k], p) -> skip
        /* Membership.contributors: a result that does not name all workers is foreign. */
        :: HAS(to, k) && !HAS(done[k], p) && entry[e].workers != ALL_WORKERS -> skip
        /* RoundState.is_right: a worker that needs no words checks none. */
        :: HAS(to, k) && !HAS(done[k], p) && entry[e].workers == ALL_WORKERS && (right || !GETS_WORDS(k, p)) ->
            answered[k] = answered[k] | (1 << (p));
            made[maker].has[k] = made[maker].has[k] | (1 << (p))
#ifdef BUG_REPLAY_UNCHECKED
        :: HAS(to, k) && !HAS(done[k], p) && entry[e].workers == ALL_WORKERS && !right && replayed ->
            slipped[k] = slipped[k] | (1 << (p))
#endif
#ifdef BUG_CONTRIBUTORS_UNCOVERED /* the check word says nothing about whose contributions are in the sum */
        :: HAS(to, k) && !HAS(done[k], p) && entry[e].workers == ALL_WORKERS && !entry[e].altered && !all_words ->
            slipped[k] = slipped[k] | (1 << (p))
#endif
        :: else -> wrong[maker].has[k] = wrong[maker].has[k] | (1 << (p))
        fi
    }
}

/* Add the contribution of a worker to position `whose`; `hurt`: its words have changed. */
inline add(from, whose, hurt) {
    entry[e].workers = entry[e].workers | BIT(from);
    entry[e].words[from] = (entry[e].words[from] == 0 -> OWNER(whose) : 255);
    entry[e].altered = entry[e].altered || (hurt)
}

inline compare(by, from, named, whose) {
    e = (by) * ENTRIES + ENTRY(whose);
    replayed = false;
    if
    :: entry[e].owner < OWNER(named) -> order = NEWER
    :: entry[e].owner == OWNER(named) -> order = SAME
    :: entry[e].owner > OWNER(named) -> order = OLDER
    fi;
    if
    :: order == NEWER -> decision = (WORKERS == 1 -> CLAIM_AND_COMPLETE : CLAIM)
    :: order == OLDER -> decision = DROP_LATE
    :: order == SAME && entry[e].done -> decision = REPLAY
    :: order == SAME && !entry[e].done && (entry[e].workers & BIT(from)) -> decision = REPORT_PENDING
    :: order == SAME && !entry[e].done && !(entry[e].workers & BIT(from)) ->
        decision = ((entry[e].workers | BIT(from)) == ALL_WORKERS -> CONTRIBUTE_AND_COMPLETE : CONTRIBUTE)
    fi
}

inline sum(by, from, named, whose, hurt) {
    if
    :: order == NEWER -> forget(e); entry[e].owner = OWNER(named); add(from, whose, hurt)
    :: decision == CONTRIBUTE || decision == CONTRIBUTE_AND_COMPLETE -> add(from, whose, hurt)
    :: else
    fi;
    if
    :: decision == CLAIM_AND_COMPLETE || decision == CONTRIBUTE_AND_COMPLETE ->
        entry[e].done = 1;
#ifdef BAD_SWITCH
        entry[e].altered = entry[e].altered || (by) == SWITCH;
#endif
#ifdef BAD_SERVER
        entry[e].altered = entry[e].altered || (by) == SERVER;
#endif
        answer(by, named, ALL_WORKERS)
    :: decision == REPLAY -> replayed = true; answer(by, named, BIT(from))
    :: else
    fi
}

/* The contribution of a worker to position `whose`, whose header names another one if it has changed, at the switch. */
inline at_switch(from, named, whose, hurt) {
    compare(SWITCH, from, named, whose);
    printf("position %d of worker %d at the switch: %e\n", named, from, decision);
#ifdef LEAVE_OUT
    /* A result of the switch, after FAILED_CHUNKS failed chunks of it were reported. */
    count_of(counted);
    assert(chunks < FAILED_CHUNKS || (decision != CONTRIBUTE_AND_COMPLETE && decision != REPLAY));
#endif
    sum(SWITCH, from, named, whose, hurt);
    if
    :: decision == REPORT_PENDING -> asked = asked | (ALL_WORKERS & ~entry[e].workers)
    :: else
    fi
}

/* ServerEntry.reopen: the owner of a scattered chunk refuses its sum, whose words no other worker uses. */
#ifdef BUG_OWNER_IS_NOT_ENOUGH
#define REOPENS(from, named) false
#else
#define REOPENS(from, named) (IS_SCATTERED(named) && OWNS(from, named))
#endif
inline reopen(from, named, whose, hurt) {
    forget(e);
    entry[e].owner = OWNER(named);
    add(from, whose, hurt);
    decision = REPORT_PENDING
}

/* ServerEntry.retake: the second contribution of a worker whose check of the result failed. Once all have refused it,
 * no worker uses it, and the second contributions make another one. */
inline retake(from, named, whose, hurt) {
    x = e - ENTRIES;
    again[x].altered = again[x].altered || (hurt) || (named) != (whose);
    again[x].workers = again[x].workers | BIT(from);
    if
#ifdef BUG_NEVER_SUMS_AGAIN
    :: false ->
#elif defined(BUG_ONE_REFUSAL_IS_ENOUGH)
    :: true ->
#else
    :: again[x].workers == ALL_WORKERS ->
#endif
#ifndef BUG_RETAKEN_FROM_THE_CACHE
        for (k : 0 .. WORKERS - 1) {
            entry[e].words[k] = (HAS(again[x].workers, k) -> OWNER(named) : 0)
        };
        entry[e].altered = again[x].altered;
#ifdef BAD_SERVER
        entry[e].altered = 1;
#endif
#endif
        again[x].workers = 0;
        again[x].altered = 0;
        decision = CONTRIBUTE_AND_COMPLETE;
        answer(SERVER, named, ALL_WORKERS)
    :: else -> replayed = true; answer(SERVER, named, BIT(from))
    fi
}

/* The same at the server. `refuses`: with OVERFLOW. */
inline at_server(from, named, whose, hurt, refuses) {
    compare(SERVER, from, named, whose);
    printf("position %d of worker %d at the server: %e\n", named, from, decision);
    if
    :: decision == REPLAY && (refuses) && REOPENS(from, named) -> reopen(from, named, whose, hurt)
    :: decision == REPLAY && (refuses) && !REOPENS(from, named) -> retake(from, named, whose, hurt)
    :: else -> sum(SERVER, from, named, whose, hurt)
    fi;
    if
    :: decision == REPORT_PENDING -> asked_bypass = asked_bypass | (ALL_WORKERS & ~entry[e].workers)
    :: else
    fi
}

/* RoundSequence._take_failed_result: worker w takes a wrong result of position p. */
inline refuse(maker, w, p) {
    printf("worker %d refuses position %d of %d\n", w, p, maker);
#ifdef BUG_SECOND_RESULT_UNCHECKED /* a chunk that failed once passes */
    assert(!HAS(refused[SWITCH].has[w] | refused[SERVER].has[w], p));
#endif
#ifdef BUG_FAILED_CHUNK_IS_OVER
    has_result(w, p);
    done[w] = done[w] & ~(1 << (p));
#endif
#ifdef BUG_REFUSAL_UNMARKED
    refused[SWITCH].has[w] = refused[SWITCH].has[w] | (1 << (p));
#else
    refused[maker].has[w] = refused[maker].has[w] | (1 << (p));
#endif
#ifdef LEAVE_OUT
    blamed = ((maker) == SWITCH -> blamed | (1 << (p)) : blamed);
#ifdef BUG_SERVER_COUNTS_FOR_THE_SWITCH
    unreported[w] = unreported[w] | (1 << (p));
#else
    if
    :: (maker) == SWITCH -> unreported[w] = unreported[w] | (1 << (p))
    :: else
    fi;
#endif
#endif
    wrong[maker].has[w] = wrong[maker].has[w] & ~(1 << (p))
}

/* Worker w uses a result of position p that passed its check. */
inline use(w, p) {
    printf("worker %d has the result of position %d\n", w, p);
    has_result(w, p);
    wrong[SWITCH].has[w] = wrong[SWITCH].has[w] & ~(1 << (p));
    wrong[SERVER].has[w] = wrong[SERVER].has[w] & ~(1 << (p));
    refused[SWITCH].has[w] = refused[SWITCH].has[w] & ~(1 << (p));
    forget_finished()
}

#define PAST(w, p) HAS(refused[SWITCH].has[w] | refused[SERVER].has[w], p) /* the worker sends with BYPASS */
#define REFUSES(w, p) HAS(refused[SERVER].has[w], p)

/* (`skip`: SPIN requires a statement after a loop in a d_step.)
 *
 * Worker w's packet of position p: it is sent, the network delivers it, and delivers results to the worker. */
proctype Link(byte w; byte p) {
end:
    do
    :: d_step { MAY_SEND(w, p) -> printf("worker %d sends position %d\n", w, p); send(w, p); skip }
    :: d_step { HAS(sent[w], p) && !left_out -> at_switch(w, p, p, false); forget_finished(); skip }
    :: d_step { HAS(sent[w], p) -> at_server(w, p, p, false, false); forget_finished(); skip }
    :: d_step { REFUSES(w, p) -> at_server(w, p, p, false, true); forget_finished(); skip }
    :: d_step { HAS(answered[w], p) && OUTSTANDING(w, p) -> use(w, p); skip }
    :: d_step { HAS(wrong[SWITCH].has[w], p) && OUTSTANDING(w, p) -> refuse(SWITCH, w, p); skip }
    :: d_step { HAS(wrong[SERVER].has[w], p) && OUTSTANDING(w, p) -> refuse(SERVER, w, p); skip }
    /* The promise: no wrong sum is used. */
    :: d_step { HAS(slipped[w], p) && OUTSTANDING(w, p) -> assert(false); skip }
#if FLIPS > 0
    /* A bit of the words changes on the way to the switch, to the server, or to the worker. */
    :: d_step { flips > 0 && HAS(sent[w], p) && !left_out ->
        flips--; at_switch(w, p, p, true); forget_finished(); skip }
    :: d_step { flips > 0 && HAS(sent[w], p) -> flips--; at_server(w, p, p, true, false); forget_finished(); skip }
    :: d_step { flips > 0 && REFUSES(w, p) -> flips--; at_server(w, p, p, true, true); forget_finished(); skip }
    :: d_step { flips > 0 && HAS(made[SWITCH].has[w], p) && OUTSTANDING(w, p) -> flips--; refuse(SWITCH, w, p); skip }
    :: d_step { flips > 0 && HAS(made[SERVER].has[w], p) && OUTSTANDING(w, p) -> flips--; refuse(SERVER, w, p); skip }
#endif
#ifdef LEAVE_OUT
    :: d_step { HAS(unreported[w], p) -> report(w, p); skip }
#endif
    od
}

#ifdef HEADERS
/* The chunk in a header changes: a contribution to position `other` arrives as one to p, or its result does. */
proctype Header(byte w; byte p; byte other) {
end:
    do
    :: d_step { flips > 0 && HAS(sent[w], other) && !left_out ->
        flips--; at_switch(w, p, other, false); forget_finished(); skip }
    :: d_step { flips > 0 && HAS(sent[w], other) ->
        flips--; at_server(w, p, other, false, false); forget_finished(); skip }
    :: d_step { flips > 0 && HAS(answered[w], other) && OUTSTANDING(w, p) ->
        flips--;
#ifdef BUG_CHUNK_UNCOVERED /* the check word says nothing about the chunk */
        assert(false);
#endif
        if
        :: HAS(made[SWITCH].has[w], other) -> refuse(SWITCH, w, p)
        :: else -> refuse(SERVER, w, p)
        fi;
        skip
    }
    od
}
#endif

#if FLIPS > 0
/* A bit of entry y changes: of its words, of its second sum, or in the set of contributors that the switch has. */
proctype Memory(byte y; byte w) {
end:
    do
    :: d_step { flips > 0 && w == 0 && entry[y].owner != 0 && !entry[y].altered ->
        flips--; entry[y].altered = 1 }
    :: d_step { flips > 0 && w == 0 && y >= ENTRIES && again[(y) % ENTRIES].workers != 0 ->
        flips--; again[(y) % ENTRIES].altered = 1 }
    :: d_step { flips > 0 && y < ENTRIES && entry[y].owner != 0 ->
        flips--; entry[y].workers = entry[y].workers ^ BIT(w) }
    od
}
#endif

#ifdef LEAVE_OUT
/* An operator returns the switch. Its registers may still have the sums of before. */
proctype Operator() {
end:
    do
    :: d_step { left_out -> left_out = false; counted = 0; reports = 0 }
    od
}
#endif

#ifdef RESTARTS
/* The switch or the server loses its state, at any moment and any number of times. */
proctype Restart() {
end:
    do
    :: d_step {
        for (i : 0 .. ENTRIES - 1) {
            forget(i)
        };
        skip
    }
    :: d_step {
        for (i : ENTRIES .. MAKERS * ENTRIES - 1) {
            forget(i)
        };
        skip
    }
    od
}
#endif

#ifdef PROGRESS
hidden Entry saved_entry[MAKERS * ENTRIES];
hidden Again saved_again[ENTRIES];
hidden Results saved_wrong[MAKERS], saved_made[MAKERS];
hidden Refusals saved_refused[MAKERS];
hidden int saved_slipped[WORKERS];
hidden byte fails[WORKERS], maker, worker;
#ifdef LEAVE_OUT
hidden int saved_unreported[WORKERS], saved_blamed;
#endif

inline copy(to, from) {
    to.owner = from.owner;
    to.done = from.done;
    to.workers = from.workers;
    to.altered = from.altered;
    for (k : 0 .. WORKERS - 1) {
        to.words[k] = from.words[k]
    }
}

inline save() {
    for (i : 0 .. MAKERS * ENTRIES - 1) {
        copy(saved_entry[i], entry[i])
    };
    for (i : 0 .. ENTRIES - 1) {
        saved_again[i].workers = again[i].workers;
        saved_again[i].altered = again[i].altered
    };
    for (k : 0 .. WORKERS - 1) {
        for (i : 0 .. MAKERS - 1) {
            saved_wrong[i].has[k] = wrong[i].has[k];
            saved_made[i].has[k] = made[i].has[k];
            saved_refused[i].has[k] = refused[i].has[k]
        };
        saved_slipped[k] = slipped[k]
#ifdef LEAVE_OUT
        ; saved_unreported[k] = unreported[k]
#endif
    }
#ifdef LEAVE_OUT
    ; saved_blamed = blamed
#endif
}

inline restore() {
    for (i : 0 .. MAKERS * ENTRIES - 1) {
        copy(entry[i], saved_entry[i])
    };
    for (i : 0 .. ENTRIES - 1) {
        again[i].workers = saved_again[i].workers;
        again[i].altered = saved_again[i].altered
    };
    for (k : 0 .. WORKERS - 1) {
        for (i : 0 .. MAKERS - 1) {
            wrong[i].has[k] = saved_wrong[i].has[k];
            made[i].has[k] = saved_made[i].has[k];
            refused[i].has[k] = saved_refused[i].has[k]
        };
        slipped[k] = saved_slipped[k]
#ifdef LEAVE_OUT
        ; unreported[k] = saved_unreported[k]
#endif
    }
#ifdef LEAVE_OUT
    ; blamed = saved_blamed
#endif
}

/* Routes as in fallback.pml, one digit for each worker. A worker whose session has ended with CertificationError has a
 * word about its missing result; this may happen only with a wrong sum in the server that another worker will never
 * refuse, because it has the right one, or with a server of which each sum is wrong. */
#ifndef MAX_FAILED_RESULTS
#define MAX_FAILED_RESULTS 8
#endif
#define TRIES (MAX_FAILED_RESULTS + 4)
#define DIGIT(w) ((route >> (2 * (w))) & 3)
#define ROUTES (1 << (2 * WORKERS))
#define LIVE(w) true
#define WATCHED true
#define GIVEN_UP (fails[c] >= MAX_FAILED_RESULTS)

inline check_route() {
    for (k : 0 .. WORKERS - 1) {
        wrong[SWITCH].has[k] = 0;
        wrong[SERVER].has[k] = 0;
        slipped[k] = 0;
        fails[k] = 0
    }
}

inline take_failed(p) {
    for (worker : 0 .. WORKERS - 1) {
        for (maker : 0 .. MAKERS - 1) {
            if
            :: HAS(wrong[maker].has[worker], p) && OUTSTANDING(worker, p) ->
                refuse(maker, worker, p);
                fails[worker] = fails[worker] + (maker == SERVER);
                if
                :: fails[worker] == MAX_FAILED_RESULTS ->
#ifndef BAD_SERVER
                    had = false;
                    for (k : 0 .. WORKERS - 1) {
                        had = had || HAS(done[k], p)
                    };
                    assert(had && !IS_SCATTERED(p));
#endif
                    printf("worker %d gives up\n", worker)
                :: else
                fi
            :: else
            fi
        }
    }
}

/* A worker that a pending answer asks takes the way that it asks for, also after a failed result. */
inline deliver(w, p, bypass) {
    if
    :: (bypass) -> at_server(w, p, p, false, (REFUSES(w, p) && !HAS(done[w], p)))
    :: !(bypass) && (DIGIT(w) == 1 || left_out || (DIGIT(w) == 3 && tries[w] % 2 == 0)) ->
        at_server(w, p, p, false, false)
    :: !(bypass) && !left_out && DIGIT(w) == 2 -> skip
    :: else -> at_switch(w, p, p, false)
    fi;
    take_failed(p)
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
#if FLIPS > 0
            ; for (p : 0 .. MAKERS * ENTRIES - 1) {
                run Memory(p, w)
            }
#endif
#ifdef HEADERS
            ; for (p : 0 .. POSITIONS * POSITIONS - 1) {
                if
                :: p / POSITIONS != p % POSITIONS -> run Header(w, p / POSITIONS, p % POSITIONS)
                :: else
                fi
            }
#endif
        };
#ifdef RESTARTS
        run Restart();
#endif
#ifdef LEAVE_OUT
        run Operator();
#endif
#ifdef PROGRESS
        run CheckProgress();
#endif
        w = 0;
        p = 0
    }
}
