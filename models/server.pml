/* SPDX-FileCopyrightText: 2026 the lanesum authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The aggregation server: each job has entries of its own, with disjoint partial sums. A partial sum is a set of
 * workers whose contributions are in one sum: one worker's packet, or the aggregate of a switch. docs/model.md has the
 * names in host/lanesum/server.
 *
 * Abstractions. Chunks are named by their position: slots.pml shows that epochs and chunks give the same order. The
 * words of a partial sum are its set: where a model makes an aggregate, it asserts that the sum is over exactly these
 * contributions, once each.
 */

#ifndef JOBS
#define JOBS 1
#endif
#ifndef NEEDED
#define NEEDED WORKERS /* contributions that make a result; fewer only with a quorum */
#endif

typedef ServerEntry {
    byte owner; /* position from 1; 0 when new */
    bit done;
    int partial_sums /* set of sets: bit b stands for the partial sum over the workers in b */
};

ServerEntry server[JOBS * ENTRIES];

/* Temporary variables of single steps, not part of the state. */
hidden byte x, b, s, n, held, met, together, asked, asked_bypass;
hidden mtype verdict;

/* Number of workers in a set. */
inline size_of(set, result) {
    result = 0;
    for (b : 0 .. WORKERS - 1) {
        result = result + HAS(set, b)
    }
}

/* Set `held` to all workers of an entry, and `met` to those of the partial sums that overlap with `set`. */
inline survey(set) {
    held = 0;
    met = 0;
    for (s : 1 .. ALL_WORKERS) {
        if
        :: HAS(server[x].partial_sums, s) ->
            held = held | s;
            if
            :: s & (set) -> met = met | s
            :: else
            fi
        :: else
        fi
    }
}

/* The new partial sum replaces all that overlap with it. */
inline replace(set) {
    for (s : 1 .. ALL_WORKERS) {
        if
        :: HAS(server[x].partial_sums, s) && (s & (set)) != 0 ->
            server[x].partial_sums = server[x].partial_sums & ~(1 << s)
        :: else
        fi
    };
    server[x].partial_sums = server[x].partial_sums | (1 << (set))
}

inline forget_server(job) {
    for (x : (job) * ENTRIES .. (job) * ENTRIES + ENTRIES - 1) {
        server[x].owner = 0;
        server[x].done = 0;
        server[x].partial_sums = 0
    }
}

/* A contribution for position p over `set` reaches the server. The model defines `decide(p, set)` for a completed sum,
 * `to_members(p, to)` for its receivers, and `answer_decided(p, set)` for earlier decisions. The pending answer asks
 * the workers in `asked_bypass` to retransmit with BYPASS. */
inline at_server(job, p, set) {
    x = (job) * ENTRIES + ENTRY(p);
    survey(set);
    verdict = CLAIM;
    answer_decided(p, set);
    if
    :: verdict == REPLAY || verdict == REPORT_GONE
    :: else ->
        if
        :: server[x].owner > (p) + 1 -> verdict = DROP_LATE
        :: server[x].owner < (p) + 1 ->
            server[x].owner = (p) + 1;
            server[x].done = 0;
            server[x].partial_sums = 1 << (set)
        :: server[x].owner == (p) + 1 && server[x].done -> verdict = REPLAY; to_members(p, set)
        :: else ->
            size_of(set, together);
            size_of(met, n);
            if
            :: ((set) & ~held) == 0 -> verdict = REPORT_PENDING
#ifdef BUG_OVERLAP_ADDED /* a sum with any new worker is added, also if it contains others again */
            :: else -> server[x].partial_sums = server[x].partial_sums | (1 << (set)); verdict = CONTRIBUTE
#else
            :: ((set) & ~held) != 0 && (met & ~(set)) != 0 && together <= n -> verdict = REPORT_OVERLAP
            :: else -> replace(set); verdict = CONTRIBUTE
#endif
            fi
        fi
    fi;
    printf("position %d of workers %d at the server: %e\n", p, set, verdict);
#ifdef NEVER_AT_SERVER /* not a property: for runs that show that a decision is reached, or that it is not */
    assert(verdict != NEVER_AT_SERVER);
#endif
    survey(0);
    size_of(held, together);
    if
    :: (verdict == CLAIM || verdict == CONTRIBUTE) && together >= NEEDED ->
        /* Exactness (INV-1): no worker is in two partial sums of the result. */
        for (n : 0 .. WORKERS - 1) {
            together = 0;
            for (s : 1 .. ALL_WORKERS) {
                together = together + (HAS(server[x].partial_sums, s) && HAS(s, n))
            };
            assert(together <= 1)
        };
        server[x].partial_sums = 1 << held;
        server[x].done = 1;
        decide(p, held);
        to_members(p, ALL_WORKERS)
    :: verdict == REPORT_PENDING || verdict == REPORT_OVERLAP ->
#ifdef BUG_SERVER_ASKS_THE_SENDER
        skip
#elif defined(BUG_SERVER_PENDING_WITHOUT_BYPASS)
        asked = asked | (ALL_WORKERS & ~held)
#else
        asked_bypass = asked_bypass | (ALL_WORKERS & ~held)
#endif
    :: else
    fi
}
