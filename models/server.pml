/* SPDX-FileCopyrightText: 2026 the lanesum authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The aggregation server: entries of its own in every job, each with disjoint pieces. A piece is a set of workers whose
 * contributions are in one sum: one worker's own packet, or what a switch has added up. docs/model.md has the names in
 * host/lanesum/server.
 *
 * Abstractions. Chunks are named by their position: slots.pml shows that epochs and chunks order them alike. The words
 * of a piece are its set: whoever makes an aggregate asserts that it holds exactly these contributions, once each.
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
    int pieces /* set of sets: bit b stands for the piece of the workers in b */
};

ServerEntry server[JOBS * ENTRIES];

/* Scratch of single steps: no part of the state. */
hidden byte x, b, s, n, held, met, together, asked, asked_past;
hidden mtype verdict;

/* Number of workers in a set. */
inline size_of(set, result) {
    result = 0;
    for (b : 0 .. WORKERS - 1) {
        result = result + HAS(set, b)
    }
}

/* `held`: all workers of an entry; `met`: those of the pieces that have a worker in common with `set`. */
inline survey(set) {
    held = 0;
    met = 0;
    for (s : 1 .. EVERYBODY) {
        if
        :: HAS(server[x].pieces, s) ->
            held = held | s;
            if
            :: s & (set) -> met = met | s
            :: else
            fi
        :: else
        fi
    }
}

/* The new piece takes the place of all that it meets. */
inline replace(set) {
    for (s : 1 .. EVERYBODY) {
        if
        :: HAS(server[x].pieces, s) && (s & (set)) != 0 -> server[x].pieces = server[x].pieces & ~(1 << s)
        :: else
        fi
    };
    server[x].pieces = server[x].pieces | (1 << (set))
}

inline forget_server(job) {
    for (x : (job) * ENTRIES .. (job) * ENTRIES + ENTRIES - 1) {
        server[x].owner = 0;
        server[x].done = 0;
        server[x].pieces = 0
    }
}

/* A contribution for position p over `set` reaches the server. The model defines what a completed sum leads to,
 * `decide(p, set)`, who gets it, `to_members(p, to)`, and what was decided before, `answer_decided(p, set)`. The pending
 * answer asks `asked_past` to send again, with BYPASS. */
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
            server[x].pieces = 1 << (set)
        :: server[x].owner == (p) + 1 && server[x].done -> verdict = REPLAY; to_members(p, set)
        :: else ->
            size_of(set, together);
            size_of(met, n);
            if
            :: ((set) & ~held) == 0 -> verdict = REPORT_PENDING
#ifdef BUG_OVERLAP_ADDED /* what brings anybody new is added, whoever else is in it */
            :: else -> server[x].pieces = server[x].pieces | (1 << (set)); verdict = CONTRIBUTE
#else
            :: ((set) & ~held) != 0 && (met & ~(set)) != 0 && together <= n -> verdict = REPORT_OVERLAP
            :: else -> replace(set); verdict = CONTRIBUTE
#endif
            fi
        fi
    fi;
    printf("position %d of workers %d at the server: %e\n", p, set, verdict);
#ifdef NEVER_AT_SERVER /* not a property: a run that shows that something is reached, or that it is not */
    assert(verdict != NEVER_AT_SERVER);
#endif
    survey(0);
    size_of(held, together);
    if
    :: (verdict == CLAIM || verdict == CONTRIBUTE) && together >= NEEDED ->
        /* Exactness: nobody is in two pieces of what is summed up now. */
        for (n : 0 .. WORKERS - 1) {
            together = 0;
            for (s : 1 .. EVERYBODY) {
                together = together + (HAS(server[x].pieces, s) && HAS(s, n))
            };
            assert(together <= 1)
        };
        server[x].pieces = 1 << held;
        server[x].done = 1;
        decide(p, held);
        to_members(p, EVERYBODY)
    :: verdict == REPORT_PENDING || verdict == REPORT_OVERLAP ->
#ifdef BUG_SERVER_ASKS_THE_SENDER
        skip
#elif defined(BUG_SERVER_PENDING_WITHOUT_BYPASS)
        asked = asked | (EVERYBODY & ~held)
#else
        asked_past = asked_past | (EVERYBODY & ~held)
#endif
    :: else
    fi
}
